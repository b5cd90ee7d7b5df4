//! Opens the terminal UI: collects what it needs from this process.

use std::env;
use std::rc::Rc;
use std::sync::Arc;

use punchlist_agent::models;
use punchlist_agent::session::Answers;
use punchlist_engine::custom_commands::{CommandPlaces, CommandProject};
use punchlist_engine::overview::Scope;
use punchlist_engine::policy::given;
use punchlist_engine::terminal_state::TerminalState;
use punchlist_model::Actor;
use punchlist_model::session::Store;
use punchlist_sched::Processes;
use punchlist_sched::process::{HeldTerminal, TerminalModes, sandbox};
use punchlist_tui::app::{Approvals, Choice, NamedModel, Opened, Place, Sources, Start, Taken};

use crate::app::App;
use crate::clock::Clock;
use crate::fail::{Code, Fail};
use crate::print::Reply;
use crate::session::{self, Continued, Output};
use crate::{block_on, config, identity, notify, places, print, run, verb, watch};

/// Whether a person is at a terminal that the UI can be drawn on.
pub(crate) fn can_open(app: &App) -> bool {
    session::is_person_there(app) && print::draws_in_place()
}

/// Opens the UI until the person leaves.
pub(crate) fn open(app: &App, choice: &Choice) -> Result<Reply, Fail> {
    let runtime = session::runtime()?;
    let (opened, no_model) = match opened(app, choice, true) {
        Ok(opened) => (Some(opened), Vec::new()),
        // Without a model it is still a front end to plans.
        Err(fail) if fail.code == Code::Usage && choice == &Choice::default() => {
            (None, without_model(&fail))
        }
        Err(fail) => return Err(fail),
    };
    let engine = session::engine(app, &session::config(app)?)?;
    let project = app.project()?.name.clone();
    let sandbox = match app.settings()?.sandbox.in_force(sandbox::support()) {
        sandbox::InForce::On | sandbox::InForce::OnAndAsking => "sandbox on",
        sandbox::InForce::Off(_) => "sandbox off",
    };
    let guardian = session::processes()?;
    let holder = guardian.clone();
    let start = Start {
        options: app.terminal(),
        theme: "dark".to_owned(),
        place: Place {
            answers: Arc::new(answers(app, Arc::clone(engine.store()))?),
            engine,
            wake: Rc::new(session::waker(app)),
            around: Arc::new(Clock),
            scope: Scope {
                project: project.clone(),
                plan: app.globals.plan.clone(),
                host: identity::host(),
            },
            program: env::current_exe().map_err(|why| {
                Fail::ours(format!("this program's own file is not known: {why}"))
            })?,
            commands: CommandPlaces {
                user: places::commands()?,
                project: Some(CommandProject { top: session::top(app)?, name: project }),
                data: places::data()?,
            },
            outputs: places::outputs()?,
            directory: session::top(app)?,
            arguments: arguments(app)?,
            state: TerminalState::new(&places::data()?),
        },
        session: opened,
        // The configuration may have changed since.
        open: Box::new(|choice| self::opened(&App::new(app.globals.clone()), choice, false)),
        sources: Sources {
            models: Box::new(|| models(app)),
            approvals: Box::new(|| approvals(app)),
            take_back: Box::new(|given| {
                let project = given.project.as_deref().unwrap_or_default();
                given::take_back(&places::data()?, &places::trusted_files(), project, &given.name)
            }),
            members: Box::new(|| verb::team::members(&App::new(app.globals.clone()))),
            plan_run: Box::new(|file| run::inside(&App::new(app.globals.clone()), file)),
            agents: Box::new(|| watch::source(app)),
        },
        no_model,
        sandbox: sandbox.to_owned(),
        rules_file: places::config()?.display().to_string(),
        notify: notify::notify(app)?,
        on_taken: Box::new(move |taken| hold(&holder, taken)),
    };
    let set = tokio::task::LocalSet::new();
    let exit = runtime.block_on(set.run_until(async {
        let exit = Box::pin(punchlist_tui::app::run(start)).await;
        // The guardian hears that the terminal is restored, and ends.
        guardian.close().await;
        exit
    }))?;
    Ok(Reply { exit, ..Reply::default() })
}

/// Has the guardian restore the terminal if this process is killed.
pub(crate) fn hold(guardian: &Processes, taken: Option<Taken>) {
    let held = taken.map(|it| {
        let [set, before] = it.modes.map(|(input, local, minimum, time)| TerminalModes {
            input,
            local,
            minimum,
            time,
        });
        (HeldTerminal { set, before, sequences: it.sequences.into() }, it.terminal.into())
    });
    // Without a guardian only a kill leaves the terminal as it is.
    guardian.hold_terminal(held).ok();
}

/// What a session needs. `asks`: the person may be asked about the project at the terminal.
fn opened(app: &App, choice: &Choice, asks: bool) -> Result<Opened, Fail> {
    let (settings, config, model, provider) = match choice.session {
        Some(id) => {
            let store = app.store()?;
            let found = block_on(store.conversation(id))?;
            let Continued { settings, config, model, provider } =
                session::continued(app, &*store, &found, choice.model.as_deref())?;
            (settings, config, model, provider)
        }
        None => {
            let config = session::config(app)?;
            let model = session::model(choice.model.as_deref(), &config)?;
            let provider = session::provider(&model, &config, 0)?;
            (session::settings(app, &config, &model)?, config, model, provider)
        }
    };
    let instructions = if asks {
        session::instructions(app, Output::Lines)?
    } else {
        session::instructions::allowed(app)?
    };
    let mut world = session::world(app, &config, &model, provider, !asks)?;
    world.model.facts.instructions = instructions;
    Ok(Opened { world, settings, stored: choice.session })
}

/// Stores what the person answers.
fn answers(app: &App, store: Arc<dyn Store>) -> Result<Answers, Fail> {
    Ok(Answers {
        store,
        around: Arc::new(Clock),
        person: Actor::person(identity::name(app.globals.name.as_deref())?),
        policy: app.policy()?,
        rules_file: places::config()?,
    })
}

/// The rules as the files now have them, and what the person has allowed besides.
fn approvals(app: &App) -> Result<Approvals, Fail> {
    let project = app.project()?;
    Ok(Approvals {
        rules: config::read(project, &app.globals.config)?.rules,
        user_file: places::config()?.display().to_string(),
        project_file: project.root.join("punchlist.toml").display().to_string(),
        consents: given::all(&places::data()?, &places::trusted_files())?,
    })
}

/// The options of this call that the verbs need, too.
fn arguments(app: &App) -> Result<Vec<String>, Fail> {
    let globals = &app.globals;
    let mut words = vec!["--db".to_owned(), app.database()?.display().to_string()];
    for it in &globals.config {
        words.extend(["-c".to_owned(), it.clone()]);
    }
    if let Some(name) = &globals.name {
        words.extend(["--as".to_owned(), name.clone()]);
    }
    Ok(words)
}

/// The models that can be chosen: the one in use, and each provider with what it lacks.
fn models(app: &App) -> Result<Vec<NamedModel>, Fail> {
    let config = session::config(app)?;
    let chosen = session::model(None, &config).ok().map(|it| (it.to_string(), None));
    let providers = session::with_keys(|lookup| models::providers(&config, lookup))?;
    let others = providers.iter().map(|it| {
        let lacks = it.lacks().unwrap_or("/model NAME chooses one");
        (format!("{}/…", it.name()), Some(lacks.to_owned()))
    });
    Ok(chosen.into_iter().chain(others).collect())
}

/// How to configure a model, and what works without one.
fn without_model(fail: &Fail) -> Vec<String> {
    let mut lines = vec![fail.message.clone()];
    lines.extend(fail.details.iter().cloned());
    lines
}
