//! Completion scripts that call `punchlist candidates` first, and then offer what clap's own script
//! knows.
//!
//! A candidate may be the name of a plan, which anybody can choose: the shell must never expand it.

use std::collections::BTreeSet;

use clap::{Arg, Command};
use clap_complete::Shell;

use super::super::candidates::KINDS;

/// clap's script for a shell, extended by the call of `punchlist candidates`.
pub(super) fn dynamic(shell: Shell, script: &str, command: &Command) -> String {
    if shell == Shell::Bash {
        return format!("{script}\n{BASH}");
    }
    if shell == Shell::Fish {
        return format!("{}\n{FISH}", with_values(script, command));
    }
    let marker = "#compdef punchlist\n";
    match script.split_once(marker).filter(|_| shell == Shell::Zsh) {
        // The shell calls our function, which falls back to clap's.
        Some((before, rest)) => {
            let rest = rest.replacen("_punchlist() {", "_punchlist_static() {", 1);
            format!("{before}{marker}\n{ZSH}\n{rest}")
        }
        None => script.to_owned(),
    }
}

/// The script for fish. Each option whose values Punchlist knows gets its own call, because fish
/// offers only the candidates that are declared with the option.
fn with_values(script: &str, command: &Command) -> String {
    let all = || command.get_opts().chain(command.get_subcommands().flat_map(Command::get_opts));
    let is_known = |arg: &Arg| {
        let name = arg.get_value_names().and_then(|it| it.first());
        name.is_some_and(|it| KINDS.contains(&it.as_str()))
    };
    let long = |arg: &Arg| arg.get_long().map(|it| format!(" -l {it} "));
    let others: BTreeSet<String> = all().filter(|it| !is_known(it)).filter_map(long).collect();
    let known: BTreeSet<String> = all().filter(|it| is_known(it)).filter_map(long).collect();
    let mut out = String::with_capacity(script.len() * 5 / 4);
    for line in script.lines() {
        out.push_str(line);
        if line.ends_with(" -r") && known.difference(&others).any(|it| line.contains(it.as_str())) {
            out.push_str(" -f -a '(__punchlist_candidates)'");
        }
        out.push('\n');
    }
    out
}

const BASH: &str = r#"_punchlist_dynamic() {
    local word=${COMP_WORDS[COMP_CWORD]} value about
    # Bash cuts --plan=NAME into three words.
    if [[ $word == '=' ]]; then
        word=
    fi
    COMPREPLY=()
    while IFS=$'\t' read -r value about; do
        if [[ $value == "$word"* ]]; then
            COMPREPLY+=("$(printf '%q' "$value")")
        fi
    done < <("${COMP_WORDS[0]}" candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if (( ${#COMPREPLY[@]} == 0 )); then
        _punchlist "$@"
    fi
}
complete -F _punchlist_dynamic -o bashdefault -o default punchlist
"#;

const ZSH: &str = r#"_punchlist() {
    local -a found
    local value about
    while IFS=$'\t' read -r value about; do
        found+=("${value//:/\\:}${about:+:$about}")
    done < <("${words[1]}" candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#found )); then
        if [[ $words[CURRENT] == --*=* ]]; then
            compset -P '*='
        fi
        _describe -V 'value' found
    else
        _punchlist_static "$@"
    fi
}
"#;

const FISH: &str = r#"function __punchlist_candidates
    set -l words (commandline -opc)
    command $words[1] candidates -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c punchlist -n 'count (__punchlist_candidates) >/dev/null' -f -a '(__punchlist_candidates)'
"#;
