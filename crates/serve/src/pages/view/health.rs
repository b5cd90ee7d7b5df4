//! What `doctor` says.

use maud::{Markup, html};
use punchlist_engine::doctor::Diagnosis;
use punchlist_formats::text::one_line;

use super::parts::{CANCELLED, DONE, NOTE, drawn, text};
use super::shell::{Live, Shell};

/// The page of health. `diagnosis`: the findings, or why there are none.
pub(crate) fn health(shell: &Shell, diagnosis: &Result<Diagnosis, String>) -> Markup {
    let content = html! {
        div.head {
            h1 { "Health" }
            p.sum { @match diagnosis {
                Ok(it) if it.is_well() => "everything works",
                Ok(_) => span.bad { "something is broken" },
                Err(_) => span.bad { "the examination failed" },
            } }
            a.button href=(shell.to("health")) { "Examine again" }
        }
        @match diagnosis {
            Ok(it) => (findings(it)),
            Err(why) => p.bad { (text(why)) },
        }
        p.muted { "The same as " code { "punchlist doctor" } " in a terminal." }
        // The bar of a small screen has no room for it.
        form.act-form method="post" action=(shell.to("sign-out")) {
            p.muted { "You are signed in as " (text(&shell.person)) "." }
            button { "Sign out" }
        }
    };
    shell.page("Health", Live::No, &content)
}

fn findings(diagnosis: &Diagnosis) -> Markup {
    html! {
        @for part in diagnosis.parts.iter().filter(|it| !it.findings.is_empty()) {
            section.part {
                h2 { (part.of) }
                ul.rows.findings {
                    @for it in &part.findings {
                        li.finding.{"is-" (it.state.name())} {
                            (sign(it.state.name()))
                            span.about { (it.about) }
                            div.said {
                                (text(&it.said))
                                @if let Some(fix) = &it.fix { p.fix { "fix: " code { (one_line(fix)) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn sign(state: &str) -> Markup {
    match state {
        "ok" => drawn("done", "works", DONE),
        "broken" => drawn("failed", "broken", CANCELLED),
        "note" => drawn("waiting", "remark", NOTE),
        _ => drawn("open", "absent", "<path d=\"M4 8h8\" class=\"ring\"/>"),
    }
}
