//! What stands around the content of every page: head, navigation, messages, the list of keys.

use maud::{DOCTYPE, Markup, html};
use punchlist_formats::text::{many_lines, one_line};
use punchlist_model::Timestamp;

use crate::pages::assets;

/// The parts of the dashboard, in the order of the navigation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    /// All agents.
    Agents,
    /// Plans, and one of them.
    Plans,
    /// Questions that wait.
    Questions,
    /// Conversations of our own agent.
    Sessions,
    /// Search in everything.
    Search,
    /// What `doctor` says.
    Health,
}

impl Section {
    const ALL: [Self; 6] =
        [Self::Agents, Self::Plans, Self::Questions, Self::Sessions, Self::Search, Self::Health];

    /// The name, and the last part of the address in lower case.
    fn name(self) -> &'static str {
        match self {
            Self::Agents => "Agents",
            Self::Plans => "Plans",
            Self::Questions => "Questions",
            Self::Sessions => "Sessions",
            Self::Search => "Search",
            Self::Health => "Health",
        }
    }

    /// The key after `g`.
    fn key(self) -> &'static str {
        match self {
            Self::Agents => "a",
            Self::Plans => "p",
            Self::Questions => "q",
            Self::Sessions => "s",
            Self::Search => "f",
            Self::Health => "h",
        }
    }

    /// The address below the base.
    pub(crate) fn path(self) -> String {
        self.name().to_ascii_lowercase()
    }
}

/// What a page needs besides its content.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    /// The path that all addresses begin with, without a slash at its end.
    pub(crate) base: String,
    /// The address of the event stream.
    pub(crate) events: String,
    /// The part that the page belongs to.
    pub(crate) section: Section,
    /// The address of this page, from which it is loaded again when something has changed.
    pub(crate) address: String,
    /// How many questions wait for the person.
    pub(crate) waiting: usize,
    /// The person who is signed in.
    pub(crate) person: String,
    /// The current time.
    pub(crate) now: Timestamp,
    /// What the person is told about the last act.
    pub(crate) told: Option<Told>,
}

/// What a person is told about an act.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// It happened.
    Done(String),
    /// It did not happen: why, and what to do next.
    Refused(String, Option<String>),
}

/// Whether a page follows changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Live {
    /// Its content is loaded again when something has changed.
    Yes,
    /// It stays as it is, but for the number of questions.
    No,
}

/// How htmx is set up: no inline styles, no evaluated code, and refusals are shown.
const HTMX: &str = r#"{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"historyEnabled":false,"selfRequestsOnly":true,"responseHandling":[{"code":"204","swap":false},{"code":"[2345]..","swap":true}]}"#;

impl Shell {
    /// An address below the base.
    pub(crate) fn to(&self, path: &str) -> String {
        format!("{}/{path}", self.base)
    }

    /// A whole page.
    pub(crate) fn page(&self, title: &str, live: Live, content: &Markup) -> Markup {
        let count = if self.waiting > 0 { format!("({}) ", self.waiting) } else { String::new() };
        html! {
            (head(&self.base, &format!("{count}{} · Punchlist", one_line(title)), true))
            body data-events=(self.events) data-base=(self.base) hx-ext="merge" {
                a.skip href="#main" { "Skip to the content" }
                (self.bar())
                main #main tabindex="-1" {
                    (told(self.told.as_ref()))
                    @match live {
                        Live::Yes => div #live hx-get=(self.address) hx-trigger="refresh"
                            hx-select="#live" hx-select-oob="#waiting" hx-swap="merge"
                            hx-sync="this:queue last" { (content) },
                        // Only the number of questions is loaded again.
                        Live::No => div #live hx-get=(self.to("questions")) hx-trigger="refresh"
                            hx-select-oob="#waiting" hx-swap="none ignoreTitle:true" { (content) },
                    }
                }
                p.offline role="status" { "Not connected. The page catches up by itself." }
                (keys())
                div #end hidden {}
            }
        }
    }

    fn bar(&self) -> Markup {
        html! {
            header.bar {
                a.brand href=(self.to("agents")) aria-label="Punchlist" {
                    svg viewBox="0 0 20 20" aria-hidden="true" {
                        rect x="1" y="1" width="18" height="18" rx="5" class="tile" {}
                        path d="M5.5 10.4l3 3 6-7" class="tick" {}
                    }
                    span { "Punchlist" }
                }
                nav aria-label="Parts of the dashboard" {
                    @for section in Section::ALL {
                        a href=(self.to(&section.path())) data-go=(section.key())
                            aria-current=[(section == self.section).then_some("page")] {
                            (section.name())
                            @if section == Section::Questions { (self.badge()) }
                        }
                    }
                }
                span.person title="Changes that you make here are recorded under this name." {
                    bdi { (one_line(&self.person)) }
                }
                form.sign-out method="post" action=(self.to("sign-out")) { button.quiet { "Sign out" } }
                button.quiet type="button" id="keys-button" aria-haspopup="dialog" title="Keys (?)" {
                    "?" span.hidden { " Keys" }
                }
            }
        }
    }

    /// How many questions wait. It takes the same room if there is none.
    fn badge(&self) -> Markup {
        html! {
            span #waiting .badge.none[self.waiting == 0] {
                @if self.waiting > 0 { (self.waiting) span.hidden { " waiting" } }
            }
        }
    }
}

/// The head of every page.
pub(super) fn head(base: &str, title: &str, has_script: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="htmx-config" content=(HTMX);
            title { (title) }
            link rel="icon" type="image/svg+xml" href=(assets::address(base, assets::ICON));
            link rel="stylesheet" href=(assets::address(base, assets::STYLE));
            @if has_script {
                // Nothing is painted before all is there, so nothing moves while a page is loaded.
                link rel="expect" blocking="render" href="#end";
                script defer src=(assets::address(base, assets::HTMX)) {}
                script defer src=(assets::address(base, assets::SCRIPT)) {}
            }
        }
    }
}

/// What the person is told, in a region that screen readers follow.
pub(crate) fn told(told: Option<&Told>) -> Markup {
    html! {
        div #told role="status" {
            @match told {
                None => {},
                Some(Told::Done(text)) => p.told { bdi { (many_lines(text)) } },
                Some(Told::Refused(text, hint)) => p.told.refused {
                    strong { "Not done: " } bdi { (many_lines(text)) }
                    @if let Some(hint) = hint { br; span.muted { (hint) } }
                },
            }
        }
    }
}

/// The keys, as `?` lists them.
const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "Everywhere",
        &[
            ("?", "these keys"),
            ("/", "search"),
            ("j k", "next, previous row"),
            ("Enter", "open"),
            ("Esc", "close, back"),
            ("g a", "agents"),
            ("g p", "plans"),
            ("g q", "questions"),
            ("g s", "sessions"),
            ("g h", "health"),
        ],
    ),
    (
        "Questions",
        &[
            ("y", "yes, once"),
            ("s", "yes, for this run"),
            ("a", "always: shows the rule first"),
            ("e", "edit the call"),
            ("n", "refuse"),
            ("r", "refuse and say why"),
            ("x", "refuse and stop"),
        ],
    ),
    (
        "A plan",
        &[
            ("a", "add an item"),
            ("e", "edit the item"),
            ("s", "start it"),
            ("d", "done"),
            ("x", "skip"),
            ("w", "wait"),
            ("r", "reopen or release"),
            ("v", "verify"),
            ("p", "approve"),
            ("J K", "move down, up"),
            ("u", "undo your last change"),
            ("1 2 3 4", "tree, board, timeline, graph"),
        ],
    ),
];

fn keys() -> Markup {
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            div.keys {
                @for (heading, keys) in KEYS {
                    section {
                        h3 { (heading) }
                        dl {
                            @for (key, what) in *keys {
                                dt { @for key in key.split(' ') { kbd { (key) } " " } }
                                dd { (what) }
                            }
                        }
                    }
                }
            }
            form method="dialog" { button type="submit" { "Close" } }
        }
    }
}
