//! The arguments of programs that run another command: options with values, operands, then the
//! command.
//!
//! Only rules that ask or deny use this. A command too many costs a question; a missed command
//! would run although somebody denied it. Whether a command is *allowed* is decided strictly, in
//! `program`.

/// A program that runs the command after its own arguments.
pub(super) struct Wrapper {
    /// The options whose value is the next word.
    pub(super) valued: &'static [&'static str],
    /// How many operands come before the command.
    pub(super) operands: usize,
}

const fn plain(valued: &'static [&'static str]) -> Wrapper {
    Wrapper { valued, operands: 0 }
}

const fn after_one(valued: &'static [&'static str]) -> Wrapper {
    Wrapper { valued, operands: 1 }
}

/// The wrapper with this name, if there is one.
pub(super) fn wrapper(name: &str) -> Option<Wrapper> {
    Some(match name {
        "env" => plain(&["-u", "--unset", "-C", "--chdir", "-a", "--argv0"]),
        "nice" => plain(&["-n", "--adjustment"]),
        "timeout" => after_one(&["-k", "--kill-after", "-s", "--signal"]),
        "time" => plain(&["-f", "--format", "-o", "--output"]),
        "stdbuf" => plain(&["-i", "--input", "-o", "--output", "-e", "--error"]),
        "ionice" => plain(&["-c", "--class", "-n", "--classdata"]),
        "chrt" => {
            after_one(&["-T", "--sched-runtime", "-P", "--sched-period", "-D", "--sched-deadline"])
        }
        "taskset" | "cpuset" => after_one(&[]),
        "choom" => plain(&["-n", "--adjust"]),
        "uclampset" => plain(&["-m", "-M"]),
        "prlimit" => plain(&["-p", "--pid", "-o", "--output"]),
        "numactl" => plain(&["-m", "-N", "-C", "-i", "-p", "-w"]),
        "xargs" => plain(&[
            "-a",
            "--arg-file",
            "-d",
            "--delimiter",
            "-E",
            "-I",
            "-L",
            "--max-lines",
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-s",
            "--max-chars",
            "--process-slot-var",
        ]),
        "sudo" => plain(&[
            "-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D",
            "--chdir", "-R", "--chroot", "-r", "--role", "-t", "--type", "-T", "-U",
        ]),
        "doas" => plain(&["-u", "-C", "-a"]),
        "unshare" => plain(&["-R", "--root", "-w", "--wd", "-S", "--setuid", "-G", "--setgid"]),
        "nsenter" => plain(&["-t", "--target", "-S", "-G"]),
        "flock" => after_one(&["-w", "--timeout", "-E", "--conflict-exit-code"]),
        "chroot" => after_one(&[]),
        "setpriv" => plain(&["--reuid", "--regid", "--groups", "--securebits", "--rlimit"]),
        "strace" | "ltrace" => plain(&[
            "-a", "-b", "-e", "-E", "-I", "-o", "-O", "-p", "-P", "-s", "-S", "-u", "-X", "-n",
            "-l",
        ]),
        "caffeinate" => plain(&["-t", "-w"]),
        "cpulimit" => plain(&["-l", "--limit", "-p", "-e"]),
        "watch" => plain(&["-n", "--interval", "-q", "--equexit"]),
        "systemd-run" => plain(&["-p", "--property", "-u", "--unit", "-M", "-H", "-E", "--setenv"]),
        "runuser" => plain(&["-u", "--user", "-g", "--group"]),
        "setuidgid" | "gosu" | "su-exec" => after_one(&[]),
        "ssh" => after_one(&[
            "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o",
            "-p", "-Q", "-R", "-S", "-W", "-w",
        ]),
        "exec" => plain(&["-a"]),
        "parallel" => plain(&["-j", "--jobs", "-S", "--sshlogin", "-a", "--arg-file"]),
        "nohup" | "setsid" | "setarch" | "linux32" | "linux64" | "i386" | "i486" | "i586"
        | "i686" | "x86_64" | "uname26" | "busybox" | "toybox" | "coreutils" | "command"
        | "builtin" | "catchsegv" | "unbuffer" | "chronic" | "fakeroot" | "fakechroot"
        | "firejail" | "rlwrap" | "torify" | "torsocks" | "proxychains" | "proxychains4"
        | "dbus-run-session" | "xvfb-run" | "valgrind" | "noglob" | "nocorrect" | "-"
        | "pkexec" | "bwrap" | "proot" => plain(&[]),
        _ => return None,
    })
}

/// The options before a program's own subcommand that take the next word as their value: `git -C
/// dir push`.
pub(super) fn before_the_command(name: &str) -> &'static [&'static str] {
    match name {
        "git" => &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--super-prefix",
            "--config-env",
            "--attr-source",
        ],
        "docker" | "podman" => &[
            "-c",
            "--context",
            "-H",
            "--host",
            "-l",
            "--log-level",
            "--config",
            "--connection",
            "--tlscacert",
            "--tlscert",
            "--tlskey",
            "--root",
            "--url",
        ],
        "kubectl" | "oc" => &[
            "-n",
            "--namespace",
            "--context",
            "--cluster",
            "--user",
            "-s",
            "--server",
            "--kubeconfig",
            "--as",
            "--as-group",
            "--token",
            "--request-timeout",
            "-v",
        ],
        "helm" => &["-n", "--namespace", "--kube-context", "--kubeconfig"],
        "cargo" => &["--config", "-C", "-Z", "--color"],
        "npm" => &["--prefix", "-w", "--workspace", "-C", "--userconfig", "--registry"],
        "pnpm" => &["-C", "--dir", "-F", "--filter"],
        "yarn" => &["--cwd"],
        "make" | "gmake" => &["-C", "--directory", "-f", "--file", "-I", "-W", "-o"],
        "systemctl" => &["-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property"],
        "gh" => &["-R", "--repo"],
        "aws" => &["--profile", "--region", "--output", "--endpoint-url", "--query"],
        "gcloud" => &["--project", "--account", "--configuration"],
        "hg" => &["-R", "--repository", "--cwd", "--config"],
        "svn" => &["--username", "--password", "--config-dir", "--config-option"],
        "go" => &["-C"],
        "uv" => &["--directory", "--project", "--config-file"],
        "poetry" => &["-C", "--directory", "-P", "--project"],
        "apt" | "apt-get" => &["-o", "-c", "-t"],
        _ => &[],
    }
}

/// Skips options. Returns the words after them, and whether there were any options.
pub(super) fn behind_options<'a>(mut rest: &'a [String], valued: &[&str]) -> (&'a [String], bool) {
    let mut any = false;
    while let Some((first, after)) = rest.split_first() {
        if first == "--" {
            return (after, true);
        }
        // A toolchain before cargo's subcommand (`+nightly`) is skipped too.
        let is_option = first.len() > 1 && first.starts_with(['-', '+']);
        if !is_option {
            break;
        }
        any = true;
        let skipped = usize::from(takes_next(first, valued));
        rest = after.get(skipped..).unwrap_or_default();
    }
    (rest, any)
}

/// Whether the word after an option is its value.
fn takes_next(option: &str, valued: &[&str]) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        // Long options may be abbreviated.
        let is_meant = |it: &&str| {
            it.strip_prefix("--")
                .is_some_and(|it| it == long || (long.len() > 2 && it.starts_with(long)))
        };
        return !long.contains('=') && valued.iter().any(is_meant);
    }
    // Short options may be combined: the first one with a value takes the rest of the word.
    let mut letters = option.chars().skip(1).peekable();
    while let Some(letter) = letters.next() {
        let is_valued = |it: &&str| it.len() == 2 && it.ends_with(letter) && !it.starts_with("--");
        if valued.iter().any(is_valued) {
            return letters.peek().is_none();
        }
    }
    false
}
