//! Programs that run other programs, or change the meaning of the words after them.
//!
//! A rule about a program allows that program and what it does by itself. It must not allow another
//! program that it starts: a rule about `timeout` is no rule about `timeout 9 rm`. So a command
//! that is passed on in a plain way counts as a command of its own, and every other way makes the
//! line opaque. For the shell's own words, the tables cover POSIX shells and their descendants.

use punchlist_sched::policy::Words;

/// Shell words that change the meaning of other words, run a text, or set a variable.
const STATE: &[&str] = &[
    "!",
    ".",
    "((",
    "[[",
    "]]",
    "alias",
    "autoload",
    "bind",
    "builtin",
    "case",
    "compgen",
    "complete",
    "coproc",
    "declare",
    "disable",
    "do",
    "done",
    "elif",
    "else",
    "emulate",
    "enable",
    "esac",
    "eval",
    "exec",
    "export",
    "fc",
    "fi",
    "float",
    "for",
    "foreach",
    "function",
    "functions",
    "getopts",
    "hash",
    "history",
    "if",
    "in",
    "integer",
    "let",
    "local",
    "mapfile",
    "nameref",
    "nocorrect",
    "noglob",
    "private",
    "read",
    "readarray",
    "readonly",
    "repeat",
    "sched",
    "select",
    "set",
    "setopt",
    "shopt",
    "source",
    "then",
    "trap",
    "typeset",
    "unalias",
    "unfunction",
    "unset",
    "unsetopt",
    "until",
    "vared",
    "wait",
    "while",
    "zle",
    "zmodload",
    "{",
    "}",
    "-",
    "print",
];

/// Programs whose purpose is to run a given command, or to pass one on.
const RUNNERS: &[&str] = &[
    "arch",
    "at",
    "atrun",
    "batch",
    "busybox",
    "bwrap",
    "caffeinate",
    "catchsegv",
    "chpst",
    "chroot",
    "chrt",
    "coreutils",
    "cpulimit",
    "crontab",
    "daemon",
    "daemonize",
    "dbus-launch",
    "dbus-run-session",
    "direnv",
    "doas",
    "dtruss",
    "entr",
    "env",
    "envdir",
    "envsubst",
    "expect",
    "fakechroot",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "hyperfine",
    "ionice",
    "ktrace",
    "lldb",
    "ltrace",
    "mosh",
    "newgrp",
    "nsenter",
    "numactl",
    "on_ac_power",
    "osascript",
    "parallel",
    "perf",
    "pkexec",
    "proot",
    "prlimit",
    "psexec",
    "rlwrap",
    "rsh",
    "run-parts",
    "runcon",
    "runit",
    "runuser",
    "runwith",
    "schedtool",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "sg",
    "softlimit",
    "ssh",
    "sshpass",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "sudoedit",
    "systemd-run",
    "taskset",
    "timelimit",
    "tmux",
    "torify",
    "torsocks",
    "toybox",
    "tsp",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "with-contenv",
    "xvfb-run",
    "zellij",
];

/// Shells: they run a text, a file or their input.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "ksh93", "mksh", "nu", "oksh", "osh",
    "pwsh", "rbash", "rc", "rksh", "rzsh", "sh", "tcsh", "xonsh", "yash", "zsh",
];

/// The options of `find` that do more than find.
const FIND_ACTS: &[&str] = &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0-from"];

/// The commands in one simple command, or `None` if it is opaque.
pub(super) fn commands(words: Words) -> Option<Vec<Words>> {
    let mut all = Vec::new();
    let mut next = Some(words);
    // Each iteration removes at least one word.
    while let Some(words) = next.take() {
        let (shown, inner) = one(words)?;
        all.push(shown);
        next = inner;
    }
    Some(all)
}

/// A command by itself, and the command that it runs, if any.
fn one(words: Words) -> Option<(Words, Option<Words>)> {
    let first = words.known.first()?;
    if !is_plain(first) {
        return None;
    }
    let name = first.rsplit('/').next().unwrap_or(first).to_ascii_lowercase();
    let arguments = words.known.get(1..).unwrap_or_default();
    let has = |what: &dyn Fn(&str) -> bool| words.more || arguments.iter().any(|it| what(it));
    let name = name.as_str();
    let alone = match name {
        // A loader runs the program that it is given.
        _ if ["ld-", "ld.so"].iter().any(|it| name.starts_with(it)) => false,
        // `env` alone prints the environment.
        "env" => arguments.is_empty() && !words.more,
        _ if STATE.contains(&name) || RUNNERS.contains(&name) => false,
        // A script file is an ordinary argument; options and input are not.
        _ if SHELLS.contains(&name) => {
            arguments.first().is_some_and(|it| !it.is_empty() && !it.starts_with(['-', '+']))
        }
        // `command -v` and `-V` look up a program.
        "command" => arguments.first().is_some_and(|it| it == "-v" || it == "-V"),
        "find" => !has(&|it| FIND_ACTS.iter().any(|act| it.starts_with(act))),
        "fd" | "fdfind" => !has(&executes),
        // Some shells evaluate these arguments, which can run commands.
        "test" | "[" => !has(&|it| it == "-v" || it == "-R" || it.contains(['$', '`'])),
        "printf" => {
            let format = arguments.first().filter(|it| !it.starts_with('-'));
            format.is_some_and(|it| !words.more || prints_texts(it))
                && !arguments.iter().any(|it| it.contains(['$', '`']))
        }
        "time" | "nohup" | "nice" | "timeout" | "xargs" => {
            let inner = handed(name, &words)?;
            let shown = Words { known: vec![first.clone()], more: true };
            return Some((shown, Some(inner)));
        }
        _ => true,
    };
    alone.then_some((words, None))
}

/// Whether a word makes `fd` run something: `-x` and `-X`, also combined with other letters, and
/// their long names.
pub(super) fn executes(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
    word.starts_with("--exec") || letters.is_some_and(|it| it.contains(['x', 'X']))
}

/// Whether a program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether command lines that begin with these words are always opaque, so that no rule can allow
/// them.
pub(super) fn is_never_told(words: &[String]) -> bool {
    let Some(first) = words.first() else { return false };
    let name = first.rsplit('/').next().unwrap_or(first).to_ascii_lowercase();
    let name = name.as_str();
    let second = words.get(1).map(String::as_str);
    match name {
        _ if first == Words::WRITE => false,
        _ if !is_plain(first) => true,
        "env" => second.is_some(),
        "command" => second.is_some_and(|it| it != "-v" && it != "-V"),
        _ if SHELLS.contains(&name) => second.is_some_and(|it| it.starts_with(['-', '+'])),
        _ => STATE.contains(&name) || RUNNERS.contains(&name),
    }
}

/// Whether a format has only text conversions. A number may be an expression that is evaluated at
/// run time.
fn prints_texts(format: &str) -> bool {
    format.split('%').skip(1).all(|it| it.is_empty() || it.starts_with(['s', 'b']))
}

/// Whether a program's name is read in the same way by all shells.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./+-@:,%".contains(c);
    name == "["
        || (!name.is_empty() && !name.starts_with(['-', '+', '%']) && name.chars().all(plain))
}

/// The command that a program runs, after those of its own options that are known.
fn handed(name: &str, words: &Words) -> Option<Words> {
    let mut rest = words.known.get(1..)?;
    loop {
        let (first, after) = rest.split_first()?;
        rest = match (name, first.as_str()) {
            (_, "--") => {
                rest = after;
                break;
            }
            ("time", "-p") | ("timeout", "--foreground" | "--preserve-status" | "-v") => after,
            ("nice", "-n") | ("timeout", "-k" | "-s") | ("xargs", "-n" | "-P" | "-L") => {
                let (value, after) = after.split_first()?;
                if !is_value(value) {
                    return None;
                }
                after
            }
            ("xargs", "-0" | "-r" | "-t" | "-x") => after,
            (_, option) if option.starts_with('-') => return None,
            _ => break,
        };
    }
    if name == "timeout" {
        let (duration, after) = rest.split_first()?;
        if !is_value(duration) {
            return None;
        }
        rest = after;
    }
    // Without a command, `xargs` runs `echo`; the other programs do nothing or read unknown words.
    let known = rest.to_vec();
    let first = known.first()?;
    // A program cannot be given the shell's own words, and only `env` sets variables.
    if first.contains('=') {
        return None;
    }
    Some(Words { known, more: words.more || name == "xargs" })
}

/// A number, a duration or a signal's name.
fn is_value(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}
