//! Command lines and their commands. Read the snapshots: rules decide about every line that is not
//! `?`.

use std::fmt::Write;

use proptest::prelude::*;
use punchlist_sched::policy::{Commands, Words};

use super::commands;

/// One result: the commands between bars, unknown words as `…`, and `?` for opaque.
fn shown(line: &str) -> String {
    let one = |words: &Words| {
        let mut known: Vec<String> = words.known.iter().map(|it| format!("{it:?}")).collect();
        known.extend(words.more.then(|| "…".to_owned()));
        known.join(" ")
    };
    match commands(line) {
        Commands::Opaque => "?".to_owned(),
        Commands::All(all) => all.iter().map(one).collect::<Vec<_>>().join(" | "),
        Commands::None => "none".to_owned(),
    }
}

/// Compares the results with a snapshot, which should read like a document.
#[track_caller]
fn check(name: &str, lines: &[&str]) {
    let mut table = String::new();
    for line in lines {
        writeln!(table, "{:<44} {}", format!("{line:?}"), shown(line)).unwrap();
    }
    insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!(name, table) });
}

#[test]
fn simple_commands_and_chains() {
    check(
        "simple_commands_and_chains",
        &[
            "",
            "  ",
            "# nothing but a comment",
            "ls",
            "git status --short",
            "cargo test && rm -rf target",
            "cargo test || rm -rf target",
            "cargo test; rm -rf target",
            "cargo test & rm -rf target",
            "cargo test | tee log",
            "cargo test |& tee log",
            "cargo test\nrm -rf target",
            "cargo test # rm -rf target",
            "cargo test #'\nrm -rf target #'",
            "ls # x \\\nrm y",
            "ls # $(x\nrm y",
            "ls # `x\nrm y",
            "ls a#b; rm '#'",
            "! ls",
            "ls;",
            "ls &",
            "ls ;; rm",
            "ls &&",
            "&& ls",
            "| ls",
            "(ls; rm x)",
            "{ ls; rm x; }",
            "((ls; rm x))",
            "((ls))",
            "( (ls) )",
            "ls \\\n  -l",
            "l\\\ns",
            "ls a\\\nb",
        ],
    );
}

#[test]
fn quotes() {
    check(
        "quotes",
        &[
            "'ls' -l",
            "\"ls\" -l",
            "l's'",
            "\\ls",
            "l\\s \\$x '$x' \"\\$x\"",
            "echo 'a b' \"c  d\" e\\ f",
            "echo \"it's\" 'say \"hi\"'",
            "echo 'unended",
            "echo \"unended",
            "echo \"a\\b\\\"\\\\\"",
            "echo a''b \"\"",
            "''",
            "'' ls",
            "'ls -l'",
            "'ls;rm'",
            "echo 'a\nb'",
            "$'ls'",
            "echo $'a\\nb'",
            "echo $\"a\"",
            "echo a$ '$' \"$\" \"5$ each\"",
            "echo 'ünïcode' \"ünïcode\"",
            "echo ünïcode",
        ],
    );
}

#[test]
fn what_is_put_in_when_it_runs() {
    check(
        "what_is_put_in_when_it_runs",
        &[
            "git $x push",
            "git \"$x\" push",
            "git ${x} push",
            "git $1 $? $@ push",
            "git ${x:-push}",
            "git ${x:=push}",
            "git ${#x}",
            "git ${!x}",
            "$x",
            "\"$x\" status",
            "$(echo rm) x",
            "`echo rm` x",
            "echo $(rm x)",
            "echo \"$(rm x)\"",
            "echo '$(rm x)'",
            "echo `rm x`",
            "echo \"`rm x`\"",
            "echo '`rm x`'",
            "echo $(echo $(rm x))",
            "echo \"$(echo \"$(rm x)\")\"",
            "echo \"$(echo \"a\")\"",
            "echo $(echo ')' ; rm x)",
            "echo $(echo # )\nrm x)",
            "echo $(case a in a) rm x;; esac)",
            "echo $((1 + 2))",
            "echo $(( $(rm x) ))",
            "echo $((rm x))",
            "echo $[1+2]",
            "cat <(rm x)",
            "tee >(rm x)",
            "ls *.rs",
            "ls '*.rs'",
            "./* x",
            "l? x",
            "[l]s",
            "~/x",
            "ls ~ ~root a=~",
            "ls {a,b}",
            "{ls,-l}",
            "ls {}",
            "git show HEAD@{1}",
            "{x}>y ls",
        ],
    );
}

#[test]
fn variables_functions_and_what_changes_the_shell() {
    check(
        "variables_functions_and_what_changes_the_shell",
        &[
            "PATH=/tmp ls",
            "A=1 B=2 ls",
            "A=1",
            "A=(1 2) ls",
            "A+=1 ls",
            "A[0]=1 ls",
            "make CC=gcc",
            "export PATH=/tmp",
            "ls() { rm x; }; ls",
            "function ls { rm x; }",
            "alias ls=rm",
            "unset PATH",
            "set -- rm",
            "eval rm x",
            "exec rm x",
            "exec > x",
            ". ./x",
            "source x",
            "trap 'rm x' EXIT",
            "read x",
            "builtin eval x",
            "command rm x",
            "command -v rm",
            "hash -p /tmp/rm ls",
            "cd x && ls",
            "cd x && ./build.sh",
            "cd x && /opt/build.sh",
            "cd x && ls > y",
            "cd x && ls > /tmp/y",
            "[ -f x ]",
            "[ -v 'a[$(rm x)]' ]",
            "[ 'a[$(rm x)]' -eq 1 ]",
            "test -n \"$x\"",
            "[[ -f x ]]",
            "[[ a < b ]]",
            "printf '%s\\n' x",
            "printf -v PATH x",
        ],
    );
}

#[test]
fn blocks() {
    check(
        "blocks",
        &[
            "if a; then b; elif c; then d; else e; fi",
            "while a; do b; done",
            "until a; do b; break; done",
            "for f in 1 2; do a $f; done",
            "for f; do a; done",
            "for f in $(a); do b; done",
            "for PATH in /tmp; do ls; done",
            "for file in a; do ls; done",
            "case x in a) b;; *) c;; esac",
            "case $(a) in $(b)) c;; esac",
            "case x in a) b;& c) d;; esac",
            "select f in a; do b; done",
            "for ((i=0;i<1;i++)); do a; done",
            "coproc a",
            "time a | b",
            "time -p a",
            "time { a; }",
            "time",
            "! time a",
            "if a; then b > c; fi > d",
            "{ a; } 2> b",
        ],
    );
}

#[test]
fn redirections() {
    check(
        "redirections",
        &[
            "ls > a",
            "ls >> a",
            "ls >| a",
            "ls 2> a",
            "> a",
            "> a ls",
            "ls > a > b",
            "ls > 'a b'",
            "ls > $x",
            "ls > \"$(rm x)\"",
            "ls > *",
            "ls > /dev/null 2>&1",
            "ls 2>/dev/null",
            "ls >/dev/tcp/a/1",
            "ls >&2",
            "ls >&-",
            "ls >& a",
            "ls &> a",
            "ls &>> a",
            "ls 12> a",
            "ls 99999999999999999999> a",
            "ls 2 > a",
            "ls <> a",
            "ls < a",
            "ls < $a",
            "ls < /dev/tcp/a/1",
            "ls <&3",
            "cat <<E\n$(rm x)\nE",
            "cat <<'E'\nx\nE",
            "cat <<-E\n\tx\n\tE",
            "cat <<< x",
            "cat <\\\n<E\nx\nE",
            "echo '<<'",
            "echo '<' \"<\"",
            "'>' a",
        ],
    );
}

#[test]
fn programs_that_run_others() {
    check(
        "programs_that_run_others",
        &[
            "env",
            "env rm x",
            "env A=1 rm x",
            "/usr/bin/env rm x",
            "ENV rm x",
            "sudo rm x",
            "ssh host rm x",
            "timeout 9 rm x",
            "timeout -k 1 -s KILL 9s rm x",
            "timeout --what 9 rm x",
            "timeout $x rm x",
            "nice rm x",
            "nice -n 5 rm x",
            "nice -5 rm x",
            "nohup rm x",
            "nohup timeout 9 nice rm x",
            "nohup env rm x",
            "nohup sh -c 'rm x'",
            "nohup",
            "nohup $x",
            "time nohup rm x",
            "ls | xargs",
            "ls | xargs rm",
            "ls | xargs -0 -n 1 rm -f",
            "ls | xargs -I{} {} x",
            "ls | xargs sh -c 'rm x'",
            "find . -name x",
            "find . -name *.x",
            "find . -exec rm {} \\;",
            "find . -delete",
            "fd x -x rm",
            "fd -Hx rm",
            "fd -HIX rm",
            "fd --exec-batch rm",
            "fd -H x",
            "sh -c 'rm x'",
            "bash -lc 'rm x'",
            "bash",
            "curl x | sh",
            "sh < x",
            "sh script.sh a",
            "sh ./$x",
            "bash --rcfile x script.sh",
            "python3 -c 'import os'",
            "awk 'BEGIN { system(\"rm x\") }'",
            "watch rm x",
            "parallel rm ::: x",
            "script -c 'rm x'",
            "busybox rm x",
            "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
            "setsid rm x",
        ],
    );
}

/// Ways to run a command that a rule about the first word does not cover.
const SMUGGLED: &[&str] = &[
    // Arithmetic, whose subscripts are evaluated and so can run commands.
    "ls $((a[$(rm x)]))",
    "ls $(( `rm x` ))",
    "ls $((x = y))",
    "ls ${a[$(rm x)]}",
    "ls ${x:-$(rm x)}",
    "ls ${x/$(rm x)/y}",
    "ls ${x@P}",
    "ls \"${x:?$(rm x)}\"",
    "ls $[a[$(rm x)]]",
    "let a[$(rm\\ x)]",
    "ls $x$(rm x)",
    // Assignments before a command, and as arguments of commands that assign.
    "PATH=. ls",
    "LD_PRELOAD=./x.so ls",
    "IFS=/ ls",
    "ls=rm",
    "A=$(rm x) ls",
    "A=1 $(rm x)",
    "env A=1 ls",
    "env -S 'rm x' ls",
    "env -i ls",
    "declare -x A=1",
    "local A=1",
    // Words in front of a command.
    "command ls",
    "command -p ls",
    "exec ls",
    "exec -a ls rm x",
    "builtin command rm x",
    "nice -n 5 -- rm x",
    "nohup nice rm x",
    "xargs -I % rm %",
    "xargs -a x rm",
    "xargs --replace rm",
    "stdbuf -oL rm x",
    "ionice -c 3 rm x",
    "doas rm x",
    "then rm x",
    "do rm x",
    "coproc rm x",
    "coproc ls { rm x; }",
    "time -o x rm y",
    "noglob rm x",
    "- rm x",
    // Quotes and escapes that only some shells know.
    "ls $'\\'; rm x #'",
    "ls $'\\x3b rm x'",
    "ls $\"$(rm x)\"",
    "ls \"a\\\nb\"",
    "ls 'a\\'; rm x",
    "ls \"\\\"; rm x\"",
    "ls \\; rm x",
    "ls \\\n; rm x",
    "ls \\\n&& rm x",
    "l\\\ns; r\\\nm x",
    // Braces, which some shells expand to words.
    "ls {a,;rm,x}",
    "{ls,;rm}",
    "ls {1..3}",
    "{rm,x}",
    "ls a{b,$(rm x)}",
    // History, which an interactive shell expands.
    "ls !!",
    "!rm",
    "ls !$",
    "!ls; rm x",
    // Redirections.
    "ls >(rm x)",
    "ls < <(rm x)",
    "ls 3<>x",
    "ls >&$(rm x)",
    "ls {fd}>x",
    "ls &>>x",
    "ls <<<$(rm x)",
    "ls <<E\n$(rm x)\nE\n",
    "ls > >(rm x)",
    "ls >$(rm x)",
    "exec 3>x; ls >&3",
    // Aliases and functions.
    "alias ls='rm x'; ls",
    "alias ls='rm x'\nls",
    "ls() rm",
    "ls () { rm x; }\nls",
    "function ls() { rm x; }; ls",
    "unalias -a; ls",
    "shopt -s expand_aliases",
    // Commands that a shell runs later.
    "trap 'rm x' 0; ls",
    "PROMPT_COMMAND='rm x' ls",
    "enable -f ./x.so ls",
    "complete -C 'rm x' ls",
    "mapfile -C 'rm x' a",
    "read -p $(rm x) a",
    "printf '%s' $(rm x)",
    "printf '%s %d%%\\n' a $x",
    "printf '%s%%%b' a $x",
    "printf $x",
    "printf -v 'a[$(rm x)]' y",
    "test -v 'a[$(rm x)]'",
    "[ a -eq 'b[$(rm x)]' ]",
    "wait -p 'a[$(rm x)]'",
    "unset 'a[$(rm x)]'",
    "getopts a 'b[$(rm x)]'",
    // Several lines.
    "ls\n\nrm x",
    "ls;\nrm x",
    "ls &\nrm x",
    "ls # a\nrm x",
    "ls #\\\nrm x",
    "ls;# a\nrm x",
    "case a in a) ls;; *) rm x;; esac",
    "case a in $(rm x)) ls;; esac",
    "for f in a; do ls; done; rm x",
    "for f in $(rm x); do ls; done",
    "if ls; then rm x; fi",
    "while ls; do rm x; break; done",
    "! ls || rm x",
    "ls |& rm x",
    "ls & rm x",
    "(ls) rm x",
    "{ ls; } && rm x",
    "[[ $(rm x) ]]",
    "ls \u{2028}rm",
    "ls\u{85}rm",
    "ls\u{3000}rm x",
    "ls\u{b}rm x",
    "ls\u{c}rm x",
    "ls \u{ff1b}rm x",
    "ls\0; rm x",
    "ls;\rrm x",
];

/// Whatever surrounds it, a command that nobody allowed is never allowed because of the first word
/// of the line.
#[test]
fn ways_to_smuggle_a_command() {
    check("ways_to_smuggle_a_command", SMUGGLED);
}

#[test]
fn letters_that_hide() {
    check(
        "letters_that_hide",
        &[
            "ls\r",
            "ls\r\nrm x",
            "ls\0rm x",
            "ls\u{1b}[2Krm",
            "ls\u{a0}rm",
            "ls\u{2028}rm x",
            "echo '\u{202e}x'",
            "echo '\u{200b}x'",
            "\u{441}argo test",
            "ls \u{37e} rm",
            "ls \u{ff1b} rm",
            "echo '\u{e9}'",
            "echo 'e\u{301}'",
            "echo '\u{1f600}'",
        ],
    );
}

#[test]
fn hostile_texts_are_looked_at_in_no_time_and_without_a_panic() {
    for it in punchlist_testkit::naughty::naughty() {
        commands(&it.text);
        commands(&format!("echo '{}'", it.text));
    }
    // The grammar would never terminate on these.
    for line in ["$(<<- <<-\"<(E'<((($(", "$(<\\\n<- <\\\n<-\"<(E'<((($("] {
        assert_eq!(shown(line), "?");
    }
    for opener in [
        "(",
        "((",
        "{ ",
        "$(",
        "\"$(",
        "if ",
        "if a; then ",
        "! ",
        "while ",
        "case a in ",
        "`",
        "<(",
        "[[ ",
        "a(",
        "${",
        "a=(",
        "! time ",
        "time ",
    ] {
        for count in [1, 7, 15, 16, 17, 100, 5_000] {
            commands(&opener.repeat(count));
            commands(&format!("{} a", opener.repeat(count)));
        }
    }
    for (opener, closer) in
        [("(", ")"), ("( ", " )"), ("{ ", "; }"), ("$(", ")"), ("if a; then ", "; fi")]
    {
        for count in [1, 4, 8, 12, 15, 16] {
            commands(&format!("{}a{}", opener.repeat(count), closer.repeat(count)));
        }
    }
}

/// Ways to put a second command into a line, at `@`. Not all shells know all of them.
const WAYS: &[&str] = &[
    "ls; @",
    "ls;@",
    "ls & @",
    "ls && @",
    "ls || @",
    "ls | @",
    "ls |& @",
    "ls\n@",
    "ls \\\n; @",
    "ls $(@)",
    "ls \"$(@)\"",
    "ls `@`",
    "ls \"`@`\"",
    "ls <(@)",
    "ls >(@)",
    "ls > $(@)",
    "ls < <(@)",
    "ls <<< $(@)",
    "ls <<E\n$(@)\nE",
    "ls $((`@`))",
    "ls $((a[$(@)]))",
    "ls ${a:-$(@)}",
    "ls ${a:=`@`}",
    "ls ${a[$(@)]}",
    "ls $[a[$(@)]]",
    "A=$(@) ls",
    "A=`@`",
    "PATH=$(@) ls",
    "(ls; @)",
    "{ ls; @; }",
    "( @ )",
    "if ls; then @; fi",
    "if @; then ls; fi",
    "while ls; do @; done",
    "until @; do ls; done",
    "for f in a; do @; done",
    "for f in $(@); do ls; done",
    "case a in a) @;; esac",
    "case $(@) in a) ls;; esac",
    "case a in $(@)) ls;; esac",
    "! @",
    "time @",
    "nohup @",
    "nice @",
    "timeout 9 @",
    "xargs @",
    "env @",
    "env A=1 @",
    "sudo @",
    "exec @",
    "eval @",
    "eval '@'",
    "command @",
    "builtin @",
    "sh -c '@'",
    "bash -c \"@\"",
    "coproc @",
    "ls() { @; }; ls",
    "function ls { @; }; ls",
    "alias ls='@'\nls",
    "trap '@' EXIT",
    "find . -exec @ \\;",
    "ls # '\n@ #'",
    "ls #\\\n@",
    "[[ -n $(@) ]]",
    "[ -n \"$(@)\" ]",
    "printf %s $(@)",
    "let $(@)",
    "declare A=$(@)",
    "ls {a,$(@)}",
    "ls $'\\'; @ #'",
    "ls \\\\; @",
    "cd x && @",
    "setsid @",
    "ls 2>&1; @",
    "&& @",
];

proptest! {
    /// A second command in a line that begins with an allowed one is never allowed because of the
    /// first.
    #[test]
    fn a_second_command_never_passes_on_the_first_word(
        ways in prop::collection::vec(prop::sample::select(WAYS), 1..4),
        hidden in prop::sample::select(vec!["rm -rf x", "'rm' -rf x", "/bin/rm x", "\\rm x", "r\"m\" x"]),
    ) {
        use punchlist_sched::policy::{Decision, Policy, Rule, Subject, Verdict};
        let line = ways.iter().fold("@".to_owned(), |line, way| line.replace('@', way));
        let line = line.replace('@', hidden);
        let subject = Subject {
            tool: "shell".to_owned(),
            commands: commands(&line),
            ..Subject::default()
        };
        // All words of the ways may run; only the hidden command may not.
        let allowed = [
            "ls", "a", "time", "nohup", "nice", "timeout", "xargs", "env", "sudo", "exec", "eval", "command",
            "builtin", "sh", "bash", "coproc", "find", "[", "printf", "let", "declare", "cd", "setsid", ">",
        ];
        let rules = allowed.map(|it| Rule::command(Decision::Allow, "shell", &[it])).to_vec();
        let policy = Policy::new(rules, Vec::new());
        prop_assert_ne!(policy.verdict(&subject), Verdict::Allow, "{}", line);
        // A rule that denies the hidden command is never skipped.
        let mut strict = policy;
        strict.add(Rule::tool(Decision::Allow, "shell"));
        strict.add(Rule::command(Decision::Deny, "shell", &["rm"]));
        prop_assert_ne!(strict.verdict(&subject), Verdict::Allow, "{}", line);
    }

    /// Every text gives a result.
    #[test]
    fn any_text_has_an_answer(line in "\\PC{0,60}") {
        commands(&line);
    }

    /// Every text that looks like a command line gives a result.
    #[test]
    fn any_command_line_has_an_answer(line in "[a-c$(){}\\[\\]<>|&;#=!~*?'\"`\\\\ \n0-9]{0,40}") {
        commands(&line);
    }
}

#[test]
fn below_the_root_what_is_relative_is_named_from_there() {
    let below = |line: &str, directory: &str| match super::below(commands(line), directory) {
        Commands::All(all) => {
            all.iter().map(|it| it.known.join(" ")).collect::<Vec<String>>().join(" | ")
        }
        Commands::Opaque => "?".to_owned(),
        Commands::None => "none".to_owned(),
    };
    assert_eq!(below("./check.sh a; make", "sub"), "./sub/check.sh a | make");
    assert_eq!(below("../check.sh > log", "a/b"), "./a/check.sh | > ./a/b/log");
    assert_eq!(below("/bin/ls > /tmp/x", "sub"), "/bin/ls | > /tmp/x");
    assert_eq!(below("../../check.sh", "sub"), "?", "it leads out");
}

#[test]
fn a_redirection_that_zsh_forces_is_not_understood() {
    for line in ["a >!b", ">!function ", "a >>! b", "a &>!b", "a >&!b", "a >\\\n!b"] {
        assert!(matches!(commands(line), Commands::Opaque), "{line:?}");
    }
}
