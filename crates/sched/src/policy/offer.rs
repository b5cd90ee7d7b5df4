//! The meaning of *always*: the rules that would allow a call from now on.
//!
//! A rule is offered only if it allows no more than what the person sees. For commands whose next
//! word is a program, code or a target (`python3 -c`, `rm -rf`), no rule is offered, because a rule
//! about their beginning would allow any of these.

use punchlist_model::call::Permit;

use super::{Commands, Decision, Policy, Rule, Subject, Verdict, Words};

/// Programs that delete, move, send or publish what they are given.
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

/// Programs that execute what they are given, a file or code.
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

/// Programs whose first argument is code that can run commands or write files.
const LANGUAGES: &[&str] = &[
    "awk", "bc", "dc", "ed", "emacs", "ex", "gawk", "gsed", "jq", "mawk", "nawk", "sed", "vi",
    "vim",
];

/// Beginnings of commands after which a program or a target follows.
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
    /// The sets of rules that "always" may add for a call. Each set would allow the call from now
    /// on; the narrowest comes first. Empty if a person must be asked anyway.
    pub fn offers(&self, subject: &Subject) -> Vec<Vec<Rule>> {
        let is_enough = |rules: &Vec<Rule>| {
            let mut with = self.clone();
            rules.iter().for_each(|it| with.add(it.clone()));
            !rules.is_empty() && with.verdict(subject) == Verdict::Allow
        };
        let mut sets: Vec<Vec<Rule>> = match &subject.commands {
            Commands::All(_) => self.prefixes(subject).into_iter().collect(),
            // Only a rule about every command would allow it, which is too much.
            Commands::Opaque => Vec::new(),
            Commands::None => about_the_call(subject),
        };
        sets.retain(is_enough);
        sets
    }

    /// A rule for each command that no rule allows yet; `None` if one of them cannot be offered.
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

    /// The commands of the call that no rule allows.
    fn unallowed(&self, subject: &Subject) -> Vec<Words> {
        let Commands::All(all) = &subject.commands else { return Vec::new() };
        let is_allowed = |words: &Words| {
            let commands = Commands::All(vec![words.clone()]);
            let alone = Subject { commands, hidden: Vec::new(), ..subject.clone() };
            self.verdict(&alone) == Verdict::Allow
        };
        all.iter().filter(|it| !is_allowed(it)).cloned().collect()
    }

    /// The rules that would have to be added for a call to be allowed, if no rule stands against
    /// it.
    pub fn lacking(&self, subject: &Subject) -> Vec<Rule> {
        let mut rules = self.lacking_anywhere(subject);
        // Without its project, such a rule would have no effect.
        for rule in rules.iter_mut().filter(|it| it.is_local()) {
            rule.project = self.place.clone();
        }
        rules
    }

    fn lacking_anywhere(&self, subject: &Subject) -> Vec<Rule> {
        if !matches!(subject.commands, Commands::All(_)) {
            // Only a rule that names the secret argument allows it.
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

/// Rules about a call without commands: about its path or another argument, its tool, or its
/// server.
fn about_the_call(subject: &Subject) -> Vec<Vec<Rule>> {
    let tool = Rule::tool(Decision::Allow, &subject.tool);
    let mut sets = Vec::new();
    if let Some(server) = &subject.server {
        sets.push(vec![Rule { server: Some(server.clone()), ..tool }]);
        sets.push(vec![Rule::server(Decision::Allow, server)]);
        return sets;
    }
    // A star in a path would be a wildcard in the rule.
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
        // Without a file name, the rule would cover every file.
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
        // After `-m`, the module is the program.
        Some("-m") if bare == "python" || bare == "pypy" => (known.len() > 2).then(|| take(3)),
        Some(script) if is(INTERPRETERS) => (!script.starts_with(['-', '+'])).then(|| take(2)),
        None if is(INTERPRETERS) => None,
        // The command that a wrapper runs needs a rule of its own.
        None => (!words.more || is_wrapper(name)).then(|| take(1)),
        // After an option anything may follow, so only the whole command is offered.
        Some(option) if option.starts_with(['-', '+']) => (!words.more).then(|| known.clone()),
        Some(_) => Some(take(2)),
    }
}

/// Programs that run another command. A rule names only the program; the other command is judged by
/// itself.
fn is_wrapper(name: &str) -> bool {
    ["nice", "nohup", "time", "timeout", "xargs"].contains(&name)
}

/// The rules that would allow a call, for a hint.
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
