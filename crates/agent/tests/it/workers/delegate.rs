//! The tool `delegate`: whose the item is while a worker works, and what becomes of it.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_core::future::BoxFuture;
use punchlist_agent::turn::PlanStatus;
use punchlist_agent::workers::delegate::{Delegate, Delegated};
use punchlist_agent::workers::{
    Listener, Outcome, Task, Worker, WorkerConfig, WorkerEnd, WorkerEvent, Workers,
};
use punchlist_engine::engine::Draft;
use punchlist_engine::{Engine, Options, PlanHandle, System, item};
use punchlist_model::store::memory::Memory;
use punchlist_model::{Limits, ListEntry, Number, Op, Status};
use punchlist_sched::call::Ended;
use punchlist_sched::policy::{Policy, Verdict};
use punchlist_sched::{Batch, Decision, Output, Rule, Run, Tool, Tools, Work, output};
use serde_json::{Value, json};

use super::{Place, now, processes};

/// A worker that is a function.
struct Fake<F>(F);

impl<F: Fn(&Task) -> BoxFuture<'static, Outcome> + Send + Sync> Worker for Fake<F> {
    fn run<'a>(
        &'a self,
        task: &'a Task,
        _work: &'a Work,
        listener: &'a Listener<'a>,
    ) -> BoxFuture<'a, Outcome> {
        let entry = |title, status| ListEntry::titled(title, status);
        listener(WorkerEvent::List(vec![
            entry("Look", Status::Completed),
            entry("Dig", Status::InProgress),
            entry("Pour", Status::Pending),
        ]));
        (self.0)(task)
    }
}

/// A plan, and the tool of its supervisor.
struct Desk {
    place: Place,
    plan: PlanHandle,
}

impl Desk {
    async fn new(max_in_progress: Option<u32>, items: &[&str]) -> Self {
        let limits = Limits { max_in_progress, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let engine = Engine::with(Arc::new(Memory::answering_later()), System, options);
        let plan = engine.create("Ship it").await.unwrap();
        let drafts: Vec<Draft> =
            items.iter().map(|it| item(*it).context("Mind the gap.")).collect();
        plan.by("supervisor").add(drafts).await.unwrap();
        Self { place: Place::new(), plan }
    }

    fn tool(&self, workers: Workers) -> Delegate {
        let directory = self.place.path("project");
        Delegate::new(workers, Arc::new(self.plan.clone()), "supervisor", directory)
    }

    /// The tool with a worker `w` that is this function.
    fn with(
        &self,
        does: impl Fn(&Task) -> BoxFuture<'static, Outcome> + Send + Sync + 'static,
    ) -> Delegate {
        let config = json!({"kind": "codex", "description": "writes\ncode"});
        let mut workers = self.place.workers(config.clone());
        workers.add(WorkerConfig::read("w", &config).unwrap(), Arc::new(Fake(does)));
        self.tool(workers)
    }

    async fn call(&self, tool: &Delegate, arguments: Value) -> (bool, String, Output) {
        tool.check(&arguments).unwrap();
        let work = Work::alone(processes(), output::Options::default());
        match tool.run(arguments, work).await {
            Ended::Well(output) => (true, output.text.clone(), output),
            Ended::Badly { what, output } => (false, what, output),
            ended @ (Ended::Declined(_) | Ended::Panicked(_)) => panic!("{ended:?}"),
        }
    }

    /// The items as lines, those of workers' lists too.
    async fn items(&self) -> Vec<String> {
        let plan = self.plan.whole().await.unwrap();
        let line = |it: &&punchlist_model::Item| {
            let by = it.claim.as_ref().map(|it| format!(" by {}", it.holder.name));
            format!("{} {}{}", it.status.as_str(), it.title, by.unwrap_or_default())
        };
        plan.listed().iter().map(line).collect()
    }

    async fn status(&self) -> PlanStatus {
        PlanStatus::of(&self.plan.whole().await.unwrap(), "supervisor", now())
    }
}

fn well(text: &str) -> BoxFuture<'static, Outcome> {
    Box::pin(std::future::ready(Outcome::new(text, WorkerEnd::Well)))
}

fn arguments() -> Value {
    json!({"todoId": "1", "agentType": "w", "task": "Do it well.", "context": "It rains."})
}

#[tokio::test]
async fn while_a_worker_works_the_item_is_its_delegations_alone() {
    let desk = Desk::new(None, &["Build", "Test"]).await;
    let plan = desk.plan.clone();
    let tool = desk.with(move |task| {
        let (plan, task) = (plan.clone(), task.clone());
        Box::pin(async move {
            // The worker's list arrives beside it.
            let mut whole = plan.whole().await.unwrap();
            for _ in 0..1000 {
                if whole.children(Number(1)).len() == 3 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
                whole = plan.whole().await.unwrap();
            }
            let claim = whole.get(Number(1)).unwrap().claim.clone().unwrap();
            assert_eq!(claim.holder.name, "supervisor/1");
            assert!(claim.holder.process.is_some());
            // Its lease is longer than the worker may take.
            assert!(claim.expires_at.duration_since(now()).as_secs() > 3600);
            for other in ["supervisor", "another"] {
                let complete =
                    Op::Complete { item: Number(1).into(), outcome: None, with_children: false };
                let refused = plan.by(other).change(vec![complete]).await.unwrap_err().to_string();
                assert!(refused.contains("supervisor/1"), "{refused}");
            }
            let entries = whole.children(Number(1));
            let entries: Vec<String> = entries
                .iter()
                .map(|it| format!("{} {} {}", it.status.as_str(), it.title, it.is_workers()))
                .collect();
            assert_eq!(
                entries,
                ["completed Look true", "in_progress Dig true", "pending Pour true"]
            );
            let status = PlanStatus::of(&whole, "supervisor", now());
            assert!(status.holding().contains(&Number(1)));
            let Task { item, task, context, .. } = task;
            Outcome::new(format!("{item:?} {task:?} {context:?}"), WorkerEnd::Well)
        })
    });
    let (is_well, text, output) = desk.call(&tool, arguments()).await;
    assert!(is_well);
    assert_eq!(
        text,
        "Some(Number(1)) \"Build\\n\\nDo it well.\" \"It rains.\\n\\nMind the gap.\"\n\n\
         Item 1 is open: complete it if this does it, or skip it."
    );
    let delegated = Delegated::of(&output).unwrap();
    assert_eq!((delegated.worker.as_str(), delegated.item), ("w", Some(Number(1))));
    let items =
        ["pending Build", "completed Look", "cancelled Dig", "cancelled Pour", "pending Test"];
    assert_eq!(desk.items().await, items);
    assert_eq!(desk.status().await.holding(), [Number(1), Number(2)]);
    // What the worker left open does not keep the supervisor from completing the item.
    let complete = Op::Complete { item: Number(1).into(), outcome: None, with_children: false };
    desk.plan.by("supervisor").change(vec![complete]).await.unwrap();
}

#[tokio::test]
async fn however_a_worker_ends_the_item_holds_the_turn_again() {
    for (end, expected) in [
        (WorkerEnd::Failed("no key".to_owned()), "w failed: no key"),
        (WorkerEnd::TimedOut(60), "w timed out after 60 s"),
        (WorkerEnd::Cancelled, "w was stopped"),
    ] {
        let desk = Desk::new(None, &["Build"]).await;
        let ended = end.clone();
        let tool =
            desk.with(move |_| Box::pin(std::future::ready(Outcome::new("half", ended.clone()))));
        let (is_well, what, output) = desk.call(&tool, arguments()).await;
        assert_eq!((is_well, what.as_str()), (false, expected));
        assert_eq!(output.text, "half\n\nItem 1 is open again.");
        assert_eq!(Delegated::of(&output).unwrap().outcome.end, end);
        assert_eq!(desk.items().await[0], "pending Build");
        assert_eq!(desk.status().await.holding(), [Number(1)]);
    }
}

#[tokio::test]
async fn after_a_usage_limit_the_item_waits_and_says_for_what() {
    let desk = Desk::new(None, &["Build"]).await;
    let until = "2026-11-17T20:00:00Z".parse().unwrap();
    let end = WorkerEnd::UsageLimit { until: Some(until) };
    let ended = end.clone();
    let tool = desk.with(move |_| Box::pin(std::future::ready(Outcome::new("", ended.clone()))));
    let (is_well, what, output) = desk.call(&tool, arguments()).await;
    assert!(!is_well);
    assert_eq!(what, "w has reached its usage limit; try again at 2026-11-17T20:00:00Z");
    assert_eq!(Delegated::of(&output).unwrap().outcome.end, end);
    let plan = desk.plan.whole().await.unwrap();
    let item = plan.get(Number(1)).unwrap();
    let on = Some("usage limit of w until 2026-11-17T20:00:00Z");
    assert_eq!((item.status, item.waiting_on.as_deref()), (Status::Pending, on));
    assert_eq!(desk.status().await.holding(), []);
}

#[tokio::test]
async fn an_item_that_the_agent_has_started_itself_can_be_delegated() {
    let desk = Desk::new(None, &["Build", "Test"]).await;
    desk.plan.by("supervisor").start(Number(1)).await.unwrap();
    let tool = desk.with(|_| well("done"));
    assert!(desk.call(&tool, arguments()).await.0);
    // Another worker's item cannot.
    desk.plan.by("another").start(Number(1)).await.unwrap();
    let (is_well, what, _) = desk.call(&tool, arguments()).await;
    assert!(!is_well && what.contains("another"), "{what}");
    assert_eq!(desk.items().await[0], "in_progress Build by another");
}

#[tokio::test]
async fn a_wrong_call_is_refused_in_words_that_help() {
    let desk = Desk::new(None, &["Build"]).await;
    let tool = desk.with(|_| well("done"));
    let refused = |arguments: Value| tool.check(&arguments).unwrap_err();
    let call = |todo: Value, worker: &str, task: &str| json!({"todoId": todo, "agentType": worker, "task": task});
    assert_eq!(
        refused(call(json!(1), "moon", "x")),
        "there is no worker \"moon\"; the workers are: w"
    );
    assert!(refused(call(json!("?"), "w", "x")).contains("neither an id nor a number"));
    assert!(refused(call(json!(1), "w", " ")).contains("the task is empty"));
    assert!(refused(json!({"agentType": "w", "task": "x", "more": 1})).contains("more"));
    let (_, what, _) = desk.call(&tool, call(json!(9), "w", "x")).await;
    assert_eq!(what, "there is no item 9");
    // The entry of a worker's list is no item of the plan.
    desk.call(&tool, arguments()).await;
    let (_, what, _) = desk.call(&tool, call(json!(2), "w", "x")).await;
    assert_eq!(what, "item 2 is on a worker's own list");
    assert!(tool.description().ends_with("Workers: w (writes code)"), "{}", tool.description());
    let todo = json!({"type": ["string", "integer", "null"],
        "description": "The item that the worker does: its id, or its position in a list without ids. Leave it out if none."});
    assert_eq!(tool.schema()["properties"]["todoId"], todo);
    assert_eq!(tool.schema()["required"], json!(["agentType", "task"]));
}

#[tokio::test]
async fn a_task_without_an_item_changes_no_plan() {
    let desk = Desk::new(None, &["Build"]).await;
    let tool = desk.with(|task| well(&format!("{:?} {}", task.item, task.title())));
    let before = desk.plan.whole().await.unwrap().revision;
    let (is_well, text, _) =
        desk.call(&tool, json!({"agentType": "w", "task": "Look around"})).await;
    assert_eq!((is_well, text.as_str()), (true, "None Look around"));
    assert_eq!(desk.plan.whole().await.unwrap().revision, before);
}

#[tokio::test]
async fn workers_run_side_by_side_as_far_as_the_plan_allows() {
    for (max_in_progress, expected) in [(None, 1), (Some(2), 2), (Some(9), 3)] {
        let desk = Desk::new(max_in_progress, &["One", "Two", "Three"]).await;
        let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let counted = Arc::clone(&most);
        let tool = desk.with(move |_| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&counted));
            Box::pin(async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Outcome::new("done", WorkerEnd::Well)
            })
        });
        let call =
            |todo: u32| desk.call(&tool, json!({"todoId": todo, "agentType": "w", "task": "x"}));
        // The numbers of the items; the workers' entries have later ones.
        let (one, two, three) = tokio::join!(call(1), call(2), call(3));
        assert!(one.0 && two.0 && three.0, "{one:?} {two:?} {three:?}");
        assert_eq!(most.load(Ordering::SeqCst), expected, "{max_in_progress:?}");
    }
}

#[tokio::test]
async fn rules_can_name_a_worker_and_our_own_loop_needs_none() {
    let desk = Desk::new(None, &["Build"]).await;
    let tool = desk.with(|_| well("done"));
    let subject = |tool: &Delegate| tool.check(&arguments()).unwrap().subject;
    assert_eq!(Policy::default().verdict(&subject(&tool)), Verdict::Ask(None));
    let text =
        "[[policy]]\ndecision = \"deny\"\ntool = \"delegate\"\nargument = [\"agentType\", \"w\"]\n";
    let rules = punchlist_engine::policy::rules::read(text).unwrap();
    let policy = Policy::new(rules, Vec::new());
    assert!(matches!(policy.verdict(&subject(&tool)), Verdict::Deny(_)));
    // The policy decides about each call of the loop itself.
    let model = desk.tool(desk.place.workers(json!({"kind": "model"})));
    assert_eq!(Policy::default().verdict(&subject(&model)), Verdict::Allow);
}

#[tokio::test]
async fn a_cancelled_delegation_ends_the_worker_and_gives_the_item_back() {
    let desk = Desk::new(None, &["Build"]).await;
    let line = "echo $$ > pid; echo > ready; trap '' TERM; sleep 300";
    let workers = desk.place.workers(json!({"kind": "shell", "command": line}));
    let mut tools = Tools::new();
    tools.add(Arc::new(desk.tool(workers))).unwrap();
    let policy = Policy::new(vec![Rule::tool(Decision::Allow, "delegate")], Vec::new());
    let run = Run::builder(tools).policy(policy).processes(processes()).start();
    let mut batch = Batch::new();
    let call = batch.call("delegate", arguments());
    let going = run.schedule(batch).await.unwrap();
    for _ in 0..1000 {
        if !desk.place.text("project/ready").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(desk.items().await, ["in_progress Build by supervisor/1"]);
    going.cancel(call, "enough").await.unwrap();
    going.outcomes().await.unwrap();
    super::assert_gone(&desk.place.text("project/pid"));
    assert_eq!(desk.items().await, ["pending Build"]);
    assert_eq!(desk.status().await.holding(), [Number(1)]);
}

#[tokio::test]
async fn what_a_crash_left_claimed_is_released() {
    let desk = Desk::new(Some(9), &["One", "Two", "Three"]).await;
    let claim = desk.plan.by("supervisor/1").start(Number(1)).await.unwrap().unwrap();
    claim.keep_list("w", &[ListEntry::titled("Dig", Status::InProgress)]).await.unwrap();
    desk.plan.by("supervisor/2").start(Number(2)).await.unwrap();
    desk.plan.by("supervisors/1").start(Number(3)).await.unwrap();
    let released = desk.plan.release_delegated("supervisor").await.unwrap();
    assert_eq!(released, [Number(1), Number(2)]);
    let items =
        ["pending One", "cancelled Dig", "pending Two", "in_progress Three by supervisors/1"];
    assert_eq!(desk.items().await, items);
    // A late list of the worker is not stored any more.
    claim.keep_list("w", &[ListEntry::titled("Late", Status::Pending)]).await.unwrap();
    assert_eq!(desk.items().await, items);
}

/// Runs git in a directory.
fn git(directory: &std::path::Path, arguments: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@example.org"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_worker_in_a_worktree_leaves_a_branch_if_it_changed_something() {
    let desk = Desk::new(None, &["Build"]).await;
    let project = desk.place.path("project");
    git(&project, &["init", "-q", "-b", "main"]);
    std::fs::write(project.join("a.txt"), "a").unwrap();
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "m"]);
    let worker = |line: &str| {
        desk.tool(desk.place.workers(json!({"kind": "shell", "command": line, "worktree": true})))
    };
    let (is_well, text, output) = desk.call(&worker("cat a.txt"), arguments()).await;
    assert!(is_well && text.starts_with("a\n\nItem 1 is open"), "{text}");
    assert_eq!(Delegated::of(&output).unwrap().outcome.branch, None);
    assert_eq!(git(&project, &["branch", "--list", "punchlist/*"]), "");
    let (is_well, text, output) = desk.call(&worker("echo b > b.txt; exit 1"), arguments()).await;
    assert!(!is_well, "{text}");
    let outcome = Delegated::of(&output).unwrap().outcome;
    let branch = outcome.branch.unwrap();
    assert!(branch.starts_with("punchlist/1-"), "{branch}");
    assert!(
        output.text.contains(&format!("The changes are on branch {branch}")),
        "{}",
        output.text
    );
    let worktree = outcome.worktree.unwrap();
    assert_eq!(std::fs::read_to_string(format!("{worktree}/b.txt")).unwrap(), "b\n");
    assert!(!project.join("b.txt").exists());
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    // Without a repository it is a failure of the worker, not of the turn.
    let desk = Desk::new(None, &["Build"]).await;
    let workers = desk.place.workers(json!({"kind": "shell", "command": "true", "worktree": true}));
    let (is_well, what, _) = desk.call(&desk.tool(workers), arguments()).await;
    assert!(!is_well && what.contains("a worktree needs a git repository"), "{what}");
}

#[test]
fn the_outcome_of_a_worker_survives_being_stored() {
    let all: BTreeMap<&str, WorkerEnd> = BTreeMap::from([
        ("well", WorkerEnd::Well),
        ("failed", WorkerEnd::Failed("x".to_owned())),
        ("timed_out", WorkerEnd::TimedOut(3)),
        ("usage_limit", WorkerEnd::UsageLimit { until: Some(now()) }),
        ("cancelled", WorkerEnd::Cancelled),
    ]);
    for (name, end) in all {
        let outcome = Outcome { branch: Some("b".to_owned()), ..Outcome::new("t", end) };
        let delegated = Delegated { worker: "w".to_owned(), item: None, outcome };
        let data = serde_json::to_value(&delegated).unwrap();
        assert!(data["outcome"]["end"].to_string().contains(name), "{data}");
        assert_eq!(Delegated::of(&Output::default().with_data(data)), Some(delegated));
    }
}
