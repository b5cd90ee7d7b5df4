//! Completions that ask the program: what only it knows comes first, then what a shell knows by itself.
//!
//! Names of plans are texts that somebody wrote: a shell never expands a candidate.

use clap_complete::Shell;

/// The script of a shell, with the part that asks the program.
pub(super) fn dynamic(shell: Shell, script: &str) -> String {
    if shell == Shell::Bash {
        return format!("{script}\n{BASH}");
    }
    if shell == Shell::Fish {
        return format!("{script}\n{FISH}");
    }
    let marker = "#compdef punchlist\n";
    match script.split_once(marker).filter(|_| shell == Shell::Zsh) {
        // The function that the shell calls is ours; clap's is what it falls back to.
        Some((before, rest)) => {
            let rest = rest.replacen("_punchlist() {", "_punchlist_static() {", 1);
            format!("{before}{marker}\n{ZSH}\n{rest}")
        }
        None => script.to_owned(),
    }
}

const BASH: &str = r#"_punchlist_dynamic() {
    local word=${COMP_WORDS[COMP_CWORD]} value about
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
        found+=("${value//:/\\:}:${about}")
    done < <("${words[1]}" candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#found )); then
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
complete -c punchlist -a '(__punchlist_candidates)'
"#;
