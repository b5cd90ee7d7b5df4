//! What *always* may mean: the rules that would let a call pass from now on.
//!
//! What is offered must be no more than what the person looks at. A command whose next words are a
//! program, a text that is run or a target (`python3 -c`, `rm -rf`) is never offered: a rule about its
//! beginning would allow any of them.

use punchlist_model::call::Permit;

use super::{Commands, Decision, Policy, Rule, Subject, Verdict, Words};

/// Programs that destroy, move, send or give away whatever they are given.
const TARGETS: &[&str] = &[
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "curl",
    "dd",
    "fallocate",
    "http",
    "install",
    "kill",
    "killall",
    "ln",
    "mkfs",
    "mount",
    "mv",
    "nc",
    "ncat",
    "netcat",
    "patch",
    "pkill",
    "rclone",
    "reboot",
    "rm",
    "rmdir",
    "rsync",
    "scp",
    "setfacl",
    "sftp",
    "shred",
    "shutdown",
    "socat",
    "tee",
    "telnet",
    "truncate",
    "umount",
    "unlink",
    "wget",
    "wipefs",
    "xh",
];

/// Programs that run what they are given: a file is a program by its name, a text is anything.
const INTERPRETERS: &[&str] = &[
    "ash",
    "bash",
    "bun",
    "csh",
    "dash",
    "deno",
    "elvish",
    "erl",
    "fish",
    "gdb",
    "ghci",
    "groovy",
    "guile",
    "irb",
    "java",
    "jshell",
    "julia",
    "ksh",
    "lua",
    "luajit",
    "mksh",
    "node",
    "nodejs",
    "nu",
    "ocaml",
    "osascript",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "pypy",
    "pypy3",
    "python",
    "r",
    "raku",
    "rscript",
    "ruby",
    "scala",
    "sh",
    "sqlite3",
    "swift",
    "tclsh",
    "tcsh",
    "ts-node",
    "tsx",
    "wish",
    "xonsh",
    "yash",
    "zsh",
];

/// Programs whose first word is a text in a language that can run commands or write files.
const LANGUAGES: &[&str] = &[
    "awk", "bc", "dc", "ed", "emacs", "ex", "gawk", "gsed", "jq", "mawk", "nawk", "sed", "vi",
    "vim",
];

/// Beginnings whose next words are a program or a target.
const BEGINNINGS: &[&[&str]] = &[
    &["aws", "s3"],
    &["bundle", "exec"],
    &["docker", "exec"],
    &["docker", "run"],
    &["git", "bisect"],
    &["git", "clean"],
    &["git", "config"],
    &["git", "filter-branch"],
    &["git", "rebase"],
    &["git", "submodule"],
    &["go", "generate"],
    &["go", "run"],
    &["kubectl", "delete"],
    &["kubectl", "exec"],
    &["kubectl", "run"],
    &["nix", "run"],
    &["nix", "shell"],
    &["npm", "exec"],
    &["npm", "x"],
    &["pipx", "run"],
    &["pnpm", "dlx"],
    &["pnpm", "exec"],
    &["podman", "exec"],
    &["podman", "run"],
    &["poetry", "run"],
    &["rustup", "run"],
    &["uv", "run"],
    &["uv", "tool"],
    &["yarn", "dlx"],
    &["yarn", "exec"],
];

impl Policy {
    /// What "always" may mean for a call that is asked about. Each entry is a set of rules that together
    /// would let it pass from now on, the narrowest first. None, if a person must be asked anyway.
    pub fn offers(&self, subject: &Subject) -> Vec<Vec<Rule>> {
        let is_enough = |rules: &Vec<Rule>| {
            let mut with = self.clone();
            rules.iter().for_each(|it| with.add(it.clone()));
            !rules.is_empty() && with.verdict(subject) == Verdict::Allow
        };
        let mut sets: Vec<Vec<Rule>> = match &subject.commands {
            Commands::All(_) => self.prefixes(subject).into_iter().collect(),
            // Only a rule about every command would do, which nobody means.
            Commands::Opaque => Vec::new(),
            Commands::None => about_the_call(subject),
        };
        sets.retain(is_enough);
        sets
    }

    /// A rule for each command that no rule allows yet; none if one of them cannot be offered.
    fn prefixes(&self, subject: &Subject) -> Option<Vec<Rule>> {
        let mut rules: Vec<Rule> = Vec::new();
        for words in self.unallowed(subject) {
            let prefix = offered(&words)?;
            let prefix: Vec<&str> = prefix.iter().map(String::as_str).collect();
            let rule = Rule::command(Decision::Allow, &subject.tool, &prefix);
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Some(rules)
    }

    /// The commands of a call that no rule allows.
    fn unallowed(&self, subject: &Subject) -> Vec<Words> {
        let Commands::All(all) = &subject.commands else { return Vec::new() };
        let is_allowed = |words: &Words| {
            let commands = Commands::All(vec![words.clone()]);
            let alone = Subject { commands, hidden: Vec::new(), ..subject.clone() };
            self.verdict(&alone) == Verdict::Allow
        };
        all.iter().filter(|it| !is_allowed(it)).cloned().collect()
    }

    /// The rules that would have to be added for a call to be allowed, if none stands against it.
    pub fn lacking(&self, subject: &Subject) -> Vec<Rule> {
        let mut rules = self.lacking_anywhere(subject);
        // Without its project such a rule would allow nothing.
        for rule in rules.iter_mut().filter(|it| it.is_local()) {
            rule.project = self.place.clone();
        }
        rules
    }

    fn lacking_anywhere(&self, subject: &Subject) -> Vec<Rule> {
        if !matches!(subject.commands, Commands::All(_)) {
            // Only a rule that names what may be secret allows it.
            return match subject.arguments.first().filter(|_| subject.is_secret) {
                Some((name, text)) => {
                    vec![Rule::argument(Decision::Allow, &subject.tool, name, text)]
                }
                None => allowing(subject),
            };
        }
        let commands = Commands::All(self.unallowed(subject));
        allowing(&Subject { commands, ..subject.clone() })
    }
}

impl From<&Rule> for Permit {
    fn from(rule: &Rule) -> Self {
        let Rule { tool, server, command, argument, .. } = rule.clone();
        Self { tool, server, command, argument }
    }
}

impl From<&Permit> for Rule {
    fn from(permit: &Permit) -> Self {
        let Permit { tool, server, command, argument } = permit.clone();
        Self { tool, server, command, argument, ..Self::new(Decision::Allow) }
    }
}

/// Rules about a call that executes nothing: its path or other argument, its tool, its server.
fn about_the_call(subject: &Subject) -> Vec<Vec<Rule>> {
    let tool = Rule::tool(Decision::Allow, &subject.tool);
    let mut sets = Vec::new();
    if let Some(server) = &subject.server {
        sets.push(vec![Rule { server: Some(server.clone()), ..tool }]);
        sets.push(vec![Rule::server(Decision::Allow, server)]);
        return sets;
    }
    // A star in a path would stand for any text in a rule.
    for (name, text) in subject.arguments.iter().filter(|it| !it.1.contains('*')) {
        sets.push(vec![Rule::argument(Decision::Allow, &subject.tool, name, text)]);
    }
    sets.push(vec![tool]);
    sets
}

/// The beginning of a command that may be offered as a rule.
fn offered(words: &Words) -> Option<Vec<String>> {
    let known = &words.known;
    if words.is_write() {
        // Without a name it would be every file.
        return (known.len() > 1).then(|| known.clone());
    }
    let first = known.first()?;
    let name = first.rsplit('/').next().unwrap_or(first).to_ascii_lowercase();
    let name = name.as_str();
    let second = known.get(1).map(String::as_str);
    let bare = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let is = |list: &[&str]| list.contains(&name) || list.contains(&bare);
    if is(TARGETS) || is(LANGUAGES) || name.starts_with("mkfs") {
        return None;
    }
    let is_beginning = |it: &&[&str]| {
        it.first() == Some(&name) && it.get(1).is_none_or(|word| second == Some(*word))
    };
    if BEGINNINGS.iter().any(is_beginning) {
        return None;
    }
    let take = |count: usize| known.iter().take(count).cloned().collect::<Vec<String>>();
    match second {
        // A module is a program by its name.
        Some("-m") if bare == "python" || bare == "pypy" => (known.len() > 2).then(|| take(3)),
        Some(script) if is(INTERPRETERS) => (!script.starts_with(['-', '+'])).then(|| take(2)),
        None if is(INTERPRETERS) => None,
        // What a program is handed by a wrapper needs a rule of its own.
        None => (!words.more || is_wrapper(name)).then(|| take(1)),
        // Behind an option anything may come: only the whole of it is what was looked at.
        Some(option) if option.starts_with(['-', '+']) => (!words.more).then(|| known.clone()),
        Some(_) => Some(take(2)),
    }
}

/// Programs of which only the name is told, because what they are handed is a command of its own.
fn is_wrapper(name: &str) -> bool {
    ["nice", "nohup", "time", "timeout", "xargs"].contains(&name)
}

/// The rules that would allow a call, for whoever wants to write them down.
pub fn allowing(subject: &Subject) -> Vec<Rule> {
    match &subject.commands {
        Commands::All(commands) if !commands.is_empty() => commands
            .iter()
            .map(|words| {
                let words: Vec<&str> = words.known.iter().take(2).map(String::as_str).collect();
                Rule::command(Decision::Allow, &subject.tool, &words)
            })
            .collect(),
        Commands::None | Commands::All(_) | Commands::Opaque => {
            vec![Rule::tool(Decision::Allow, &subject.tool)]
        }
    }
}
