//! Finds the agent among the ancestor processes, and how it was started. Names and arguments
//! decide; the process itself is only examined if they are not enough.

use punchlist_model::Process;

use punchlist_bridge::process::{self, Ancestor};

/// The agents whose sessions we know.
pub const AGENTS: [&str; 3] = ["claude", "codex", "gemini"];

/// Other agents, of which only the names are known. Editors with the same name are not included,
/// because people use terminals in them.
const OTHERS: [&str; 12] = [
    "aider",
    "amp",
    "auggie",
    "cline",
    "copilot",
    "crush",
    "cursor-agent",
    "droid",
    "goose",
    "kiro-cli",
    "opencode",
    "qwen",
];

/// Programs that only run other programs, and our own: never the agent.
const BETWEEN: [&str; 34] = [
    "punchlist",
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "mksh",
    "ash",
    "busybox",
    "timeout",
    "env",
    "nice",
    "ionice",
    "nohup",
    "setsid",
    "stdbuf",
    "sudo",
    "doas",
    "su",
    "login",
    "xargs",
    "time",
    "strace",
    "script",
    "unshare",
    "bwrap",
    "flatpak",
    "catatonit",
    "tini",
    "dumb-init",
    "init",
    "systemd",
    "launchd",
];

/// Programs whose first argument is the program that they run.
const INTERPRETERS: [&str; 14] = [
    "node", "bun", "deno", "python", "python3", "ruby", "sh", "bash", "dash", "zsh", "ksh", "mksh",
    "ash", "busybox",
];

/// The interpreters that run agents' scripts and allow options before the script.
const SCRIPTS: [&str; 3] = ["node", "bun", "deno"];

/// Whether the session is interactive, judged by how the agent was started; `None` if that is not
/// clear.
pub fn attended(agent: &str, it: &Ancestor) -> Option<bool> {
    let words: Vec<_> = it.argv.words().skip(1).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let has = |these: &[&str]| {
        let is = |word: &&str| these.iter().any(|it| word == it || is_set(word, it));
        words.iter().any(is)
    };
    match agent {
        // The first of these words is the command, wherever options are.
        "codex" => {
            const COMMANDS: [&str; 5] = ["exec", "e", "review", "resume", "app-server"];
            match words.iter().find(|it| COMMANDS.contains(it)).copied() {
                Some("exec" | "e" | "review") => Some(false),
                // Only the program that drives it knows.
                Some("app-server") => None,
                Some(_) | None => Some(true),
            }
        }
        "gemini" if has(&["--acp", "--experimental-acp"]) => None,
        "gemini" if has(&["-i", "--prompt-interactive"]) => Some(true),
        "gemini" if has(&["-p", "--prompt"]) => Some(false),
        // Without a prompt, Gemini CLI reads one from standard input if that is no terminal.
        "gemini" => process::has_terminal(&it.process),
        _ => None,
    }
}

/// Whether the agent was started in plan mode. Claude Code and Codex report that with each event.
pub fn only_plans(agent: &str, it: &Ancestor) -> bool {
    let mut pairs = it.argv.words().zip(it.argv.words().skip(1));
    let mut apart = || pairs.any(|(name, value)| name == "--approval-mode" && value == "plan");
    agent == "gemini" && (apart() || it.argv.words().any(|it| it == "--approval-mode=plan"))
}

/// `--name=value`.
fn is_set(word: &str, name: &str) -> bool {
    name.starts_with("--") && word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
}

/// The nearest ancestor process that is the agent.
///
/// A process with the agent's name comes first, then one in a folder with that name (a versioned
/// installation), else the first that does more than run other programs.
pub fn agent_process<'a>(agent: &str, ancestors: &'a [Ancestor]) -> Option<&'a Ancestor> {
    let called = || ancestors.iter().find(|it| is_called(agent, it));
    let lies_in = || ancestors.iter().find(|it| !is_between(it) && lies_in(agent, it));
    called().or_else(lies_in).or_else(|| ancestors.iter().find(|it| !is_between(it)))
}

/// The nearest ancestor process with the name of a known agent, and that agent.
pub fn known_agent(ancestors: &[Ancestor]) -> Option<(&'static str, &Ancestor)> {
    ancestors.iter().find_map(|it| Some((agent_of(it)?, it)))
}

/// Whether a process has the name of a known agent. [`known_agent`] and [`reach`] need no ancestors
/// above it.
pub fn is_known(it: &Ancestor) -> bool {
    all().any(|agent| is_called(agent, it))
}

/// The agent whose name a process has.
pub fn agent_of(it: &Ancestor) -> Option<&'static str> {
    all().find(|agent| is_called(agent, it))
}

fn all() -> impl Iterator<Item = &'static str> {
    AGENTS.into_iter().chain(OTHERS)
}

/// The ancestor processes in which our session may run, nearest first, up to the first known agent.
/// An agent above that one started ours and has another session.
pub fn reach(ancestors: &[Ancestor]) -> Vec<Process> {
    let agent = known_agent(ancestors).map(|(_, it)| &it.process);
    let end = ancestors.iter().position(|it| Some(&it.process) == agent);
    let reached = &ancestors[..end.map_or(ancestors.len(), |end| end + 1)];
    reached.iter().map(|it| it.process.clone()).collect()
}

/// Whether a process has the agent's name: its own name, the program that was started, or the
/// script that an interpreter runs. [`agent_process`] needs no ancestors above it.
pub fn is_called(agent: &str, it: &Ancestor) -> bool {
    if is(agent, &it.name) {
        return true;
    }
    let path = it.argv.program();
    let program = file(&path);
    if is(agent, program) || is_version(agent, &path) {
        return true;
    }
    if !INTERPRETERS.contains(&plain(program)) {
        return false;
    }
    // A shell's options may be followed by a command line; options of the other interpreters stand
    // alone.
    let skips = SCRIPTS.contains(&program);
    let script = it.argv.words().skip(1).find(|word| !(skips && word.starts_with('-')));
    let script = script.filter(|word| !word.starts_with('-'));
    script.is_some_and(|path| is(agent, file(&path)) || is_package(agent, &path))
}

/// `claude`, or with a suffix: `claude-code`, `codex-x86_64`, `gemini.js`.
fn is(agent: &str, name: &str) -> bool {
    let rest = plain(name).strip_prefix(agent);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ' ']))
}

/// Whether the path is a script of the agent's package, with any file name:
/// `…/node_modules/@anthropic-ai/claude-code/cli.js`, `…/gemini-cli/bundle/start.js`.
fn is_package(agent: &str, path: &str) -> bool {
    let mut installed = path.split('/').skip_while(|it| *it != "node_modules");
    let mut folders = path.split('/');
    let is_source = |it: &str| PACKAGES.contains(&it) && is(agent, it);
    installed.any(|folder| is(agent, folder)) || folders.any(is_source)
}

/// Folders of agents' programs that no package manager created.
const PACKAGES: [&str; 6] =
    ["aider-chat", "claude-code", "codex-cli", "gemini-cli", "opencode-ai", "qwen-code"];

/// A versioned installation, where the file is named after the version: `…/claude/versions/2.1.3`.
fn is_version(agent: &str, path: &str) -> bool {
    let mut folders = path.rsplit('/').skip(1);
    folders.next() == Some("versions") && folders.next().is_some_and(|it| is(agent, it))
}

fn lies_in(agent: &str, it: &Ancestor) -> bool {
    it.argv.program().split('/').any(|folder| is(agent, folder))
}

fn is_between(it: &Ancestor) -> bool {
    BETWEEN.contains(&plain(&it.name)) || BETWEEN.contains(&plain(file(&it.argv.program())))
}

fn file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Removes the leading dash of a login shell's name.
fn plain(name: &str) -> &str {
    name.strip_prefix('-').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ancestor processes, nearest first: `name: arguments`.
    fn chain(lines: &[&str]) -> Vec<Ancestor> {
        let one = |(at, line): (usize, &&str)| {
            let (name, argv) = line.split_once(": ").unwrap();
            let process = Process {
                host: "here".to_owned(),
                boot_id: "boot".to_owned(),
                pid_namespace: 1,
                pid: 100 - u32::try_from(at).unwrap(),
                start_time: 1,
            };
            let argv = argv.split(' ').map(|word| word.replace('_', " ")).collect();
            Ancestor { process, name: name.to_owned(), argv }
        };
        lines.iter().enumerate().map(one).collect()
    }

    #[track_caller]
    fn check(agent: &str, lines: &[&str], expected: Option<usize>) {
        let chain = chain(lines);
        let found = agent_process(agent, &chain);
        assert_eq!(found.map(|it| 100 - it.process.pid as usize), expected, "{lines:?}");
    }

    const HOOK: &str = "sh: /bin/sh -c o=$('/opt/punchlist'_hook_claude)";

    #[test]
    fn a_hook_finds_the_agent_above_its_shell() {
        let terminal = "gnome-terminal-: /usr/libexec/gnome-terminal-server";
        let systemd = "systemd: /sbin/init";
        for (agent, lines, expected) in [
            ("claude", &[HOOK, "claude: claude", "bash: -bash", terminal, systemd][..], Some(1)),
            ("claude", &[HOOK, "claude: /home/me/.local/bin/claude -p x", "zsh: zsh"], Some(1)),
            // The installed version, started by its full path.
            (
                "claude",
                &[HOOK, "2.1.197: /home/me/.local/share/claude/versions/2.1.197", "zsh: -zsh"],
                Some(1),
            ),
            ("claude", &[HOOK, "node: node /usr/local/bin/claude --resume", "bash: bash"], Some(1)),
            ("claude", &[HOOK, "MainThread: node /usr/bin/claude", "bash: bash"], Some(1)),
            (
                "claude",
                &[HOOK, "node: node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"],
                Some(1),
            ),
            // Through npx, which also has the name but is further away.
            (
                "claude",
                &[
                    HOOK,
                    "claude: claude",
                    "sh: sh -c claude",
                    "npm exec @anthr: npm_exec_@anthropic-ai/claude-code",
                    "bash: bash",
                ],
                Some(1),
            ),
            ("claude", &[HOOK, "claude: claude -p x", "timeout: timeout 60 claude -p x"], Some(1)),
            (
                "claude",
                &[HOOK, "claude: claude", "tmux: server: tmux new claude", systemd],
                Some(1),
            ),
            // A script that starts the agent.
            ("claude", &[HOOK, "claude: claude", "claude: /bin/sh /home/me/bin/claude"], Some(1)),
            ("claude", &[HOOK, "claude: /bin/sh /tmp/x/claude -p", "bash: bash"], Some(1)),
            // No process has the name: the first that does more than run others.
            ("claude", &[HOOK, "node: node cli.js", "bash: bash", terminal], Some(1)),
            ("claude", &[HOOK, "timeout: timeout 3 sh", "agent: ./agent", "bash: bash"], Some(2)),
            ("claude", &[HOOK, "punchlist: punchlist run", "python3: python3 sdk.py"], Some(2)),
            ("claude", &[HOOK, "bash: bash", systemd], None),
            ("claude", &[], None),
            // A user with the agent's name.
            ("claude", &[HOOK, "node: node cli.js", "x: /home/claude/bin/x"], Some(2)),
            // A shell whose command line names the agent is not the agent.
            ("claude", &[HOOK, "agent: ./agent"], Some(1)),
            (
                "codex",
                &[
                    "bash: bash -lc punchlist_hook_codex",
                    "codex: /usr/lib/node_modules/@openai/codex/vendor/codex-x86_64 exec",
                    "node: node /usr/bin/codex exec",
                ],
                Some(1),
            ),
            (
                "gemini",
                &[
                    "bash: bash -c punchlist_hook_gemini",
                    "node: /usr/bin/node /usr/bin/gemini",
                    "node: node /usr/bin/gemini",
                ],
                Some(1),
            ),
        ] {
            check(agent, lines, expected);
        }
    }

    #[test]
    fn a_program_that_only_begins_like_the_agent_is_another() {
        for name in ["claudette", "claudes", "preclaude", "codexes", "geminid"] {
            let chain = chain(&[&format!("{name}: /usr/bin/{name}")]);
            assert_eq!(known_agent(&chain), None, "{name}");
        }
        for name in ["claude", "claude-code", "codex", "gemini"] {
            let chain = chain(&["make: make", &format!("{name}: {name}")]);
            let (agent, at) = known_agent(&chain).unwrap();
            assert!(name.starts_with(agent) && *at == chain[1], "{name}");
        }
    }

    #[test]
    fn agents_are_known_by_versioned_paths_packages_and_interpreters() {
        for (line, expected) in [
            ("2.1.3: /home/me/.local/share/claude/versions/2.1.3", Some("claude")),
            ("2.1.3: /opt/other/versions/2.1.3", None),
            ("node: node /opt/gemini-cli/bundle/start.js -p x", Some("gemini")),
            ("node: node /usr/lib/node_modules/@sourcegraph/amp/dist/main.js", Some("amp")),
            ("node: node /usr/lib/node_modules/@github/copilot/index.js", Some("copilot")),
            ("node: node /usr/lib/node_modules/@qwen-code/qwen-code/cli.js", Some("qwen")),
            ("aider: /usr/bin/python3 /home/me/.local/bin/aider --yes", Some("aider")),
            ("python3: python3 /home/me/.local/bin/aider", Some("aider")),
            ("opencode: opencode run x", Some("opencode")),
            ("goose: goose session", Some("goose")),
            ("cursor-agent: cursor-agent -p x", Some("cursor-agent")),
            ("crush: crush", Some("crush")),
            ("kiro-cli-chat: /usr/bin/kiro-cli-chat chat", Some("kiro-cli")),
            // Editors in which people use terminals, and programs in a folder of that name.
            ("cursor: /usr/share/cursor/cursor", None),
            ("code: /usr/share/code/code", None),
            ("node: node /home/me/gemini-tools/server.js", None),
            ("amplify: amplify push", None),
        ] {
            let mut chain = chain(&[line]);
            // In these lines an underscore is literal.
            chain[0].argv = line.split(' ').skip(1).collect();
            assert_eq!(known_agent(&chain).map(|it| it.0), expected, "{line}");
        }
    }

    #[test]
    fn a_session_is_looked_for_up_to_the_nearest_agent_and_not_in_the_one_that_started_it() {
        let chain = chain(&["bash: bash", "claude: claude -p", "bash: bash", "codex: codex"]);
        let pids = |ancestors| reach(ancestors).iter().map(|it| it.pid).collect::<Vec<_>>();
        assert_eq!(pids(&chain), [100, 99]);
        assert_eq!(pids(&chain[2..]), [98, 97]);
        assert_eq!(pids(&chain[..1]), [100], "an agent of another name may be recorded");
        assert_eq!(pids(&[]), [0; 0]);
    }

    #[test]
    fn how_an_agent_was_started_tells_whether_somebody_sits_there() {
        for (agent, line, expected) in [
            ("codex", "codex: codex exec --json Build", Some(false)),
            ("codex", "codex: codex -c model=x -c a=b e Build", Some(false)),
            ("codex", "codex: codex", Some(true)),
            ("codex", "codex: codex resume --last", Some(true)),
            ("codex", "codex: codex app-server", None),
            ("gemini", "node: node /bin/gemini -p Build", Some(false)),
            (
                "gemini",
                "node: node --max-old-space-size=4096 /bin/gemini --prompt=Build",
                Some(false),
            ),
            ("gemini", "node: node /bin/gemini -i Build", Some(true)),
            ("gemini", "node: node /bin/gemini --acp", None),
            ("claude", "claude: claude -p x", None),
        ] {
            let chain = chain(&[line]);
            assert_eq!(attended(agent, &chain[0]), expected, "{line}");
        }
    }

    #[test]
    fn an_agent_may_be_started_to_plan_only() {
        for (line, expected) in [
            ("node: node /bin/gemini --approval-mode plan -p x", true),
            ("node: node /bin/gemini --approval-mode=plan", true),
            ("node: node /bin/gemini --approval-mode yolo -p plan", false),
            ("node: node /bin/gemini -p plan", false),
        ] {
            assert_eq!(only_plans("gemini", &chain(&[line])[0]), expected, "{line}");
        }
        assert!(!only_plans("codex", &chain(&["codex: codex --approval-mode plan"])[0]));
    }

    #[test]
    fn options_before_a_script_do_not_hide_it() {
        let chain = chain(&["MainThread: node --max-old-space-size=4096 /usr/bin/gemini -p x"]);
        assert_eq!(known_agent(&chain).map(|it| it.0), Some("gemini"));
    }
}
