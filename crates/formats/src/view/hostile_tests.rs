//! Hostile texts at every width: no view panics, and no control character reaches the output.

use std::collections::BTreeSet;

use proptest::prelude::*;
use punchlist_model::event::PlanDelta;
use punchlist_model::store::{AttachmentKey, Entry, Kind, Summary};
use punchlist_model::{Actor, Delta, Event, Number, Plan, Revision, Timestamp, What};
use quick_xml::Reader;
use quick_xml::events::Event as Xml;

use super::fixture::{any_plan, naughty, options};
use super::log::{Show, Times};
use super::team::Member;
use super::*;
use crate::text::line::to_ansi;
use crate::text::naughty::any_text;
use crate::text::{Line, clean, escape, one_line, width};

/// The text without our own colours.
fn without_colour(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("\u{1b}[") {
        out.push_str(&rest[..start]);
        let tail = &rest[start + 2..];
        let end = tail.find('m').expect("an escape of ours ends in m");
        let code = &tail[..end];
        assert!(
            ["0", "1", "2"].contains(&code) || code.trim_start_matches("1;").len() == 2,
            "{code}"
        );
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Fails on characters that control a terminal, except line breaks and closed isolates.
#[track_caller]
pub(crate) fn assert_harmless(view: &str) {
    for line in view.split('\n') {
        let mut open = 0_i32;
        for ch in line.chars() {
            match ch {
                '\u{2068}' => open += 1,
                '\u{2069}' => open -= 1,
                ch => {
                    assert!(!ch.is_control() && !clean::is_bidi_control(ch), "{ch:?} in {line:?}");
                }
            }
            assert!((0..=1).contains(&open), "isolates in {line:?}");
        }
        assert_eq!(open, 0, "an open isolate in {line:?}");
    }
}

/// The lines have the requested width, with and without colour, and report it correctly.
#[track_caller]
fn assert_width(view: &[Line], columns: u16) {
    for line in view {
        assert_eq!(line.width(), usize::from(columns), "{columns} columns: {line:?}");
        assert_eq!(width(&line.to_plain()), line.width(), "{line:?}");
        assert_eq!(without_colour(&line.to_ansi(true)), line.to_plain());
    }
}

/// Every view for terminals, with or without colour.
fn terminal_views(plan: &Plan, text: &str, options: &Options, colour: bool) -> Vec<String> {
    let drawn = |lines: Vec<Line>| to_ansi(&lines, colour);
    let member = Member::new(text, None);
    let show = Show { reader: None, times: Times::Ago, only: None };
    let mut views = vec![
        drawn(boxed::boxed(plan, options)),
        drawn(list::list(plan, options)),
        plain::text(plan),
        plain::numbered(plan),
        plain::update(plan, options),
        markdown::markdown(plan),
        drawn(team::team(plan, &member, &BTreeSet::from([Number(1)]), options)),
        graph::dot(plan),
        graph::mermaid(plan),
        json::render(&json::list(plan, None, &BTreeSet::new())),
        plain::dropped(plan, None),
        plain::below(plan, &BTreeSet::new(), options.now, options.reader),
        detail::header(plan, None, &BTreeSet::new(), options.now),
        detail::before_approval(&plan.items.values().collect::<Vec<_>>()).join("\n"),
        goal::whole(plan, &BTreeSet::new(), options.now, options.reader),
    ];
    views.extend(plan.items.values().map(|it| plain::transition(it, options).to_ansi(colour)));
    let entries = journal(plan, text);
    let detail = |it| drawn(detail::detail(plan, it, &entries, show, options));
    views.extend(plan.items.values().map(detail));
    views.push(drawn(log::log(plan, &entries, show, options)));
    views.extend(entries.iter().map(|it| json::render(&json::entry(it))));
    let summaries = [summary(plan, text), summary(plan, "")];
    views.push(drawn(plans::plans(&summaries, &BTreeSet::from([plan.id]), options)));
    views.extend(summaries.iter().map(|it| json::render(&json::summary(it))));
    views
}

/// The texts of a document's `todo` elements, read by a real XML parser.
fn todos(xml: &str) -> Vec<String> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let (mut texts, mut text) = (Vec::new(), String::new());
    loop {
        match reader.read_event().expect("well-formed") {
            Xml::Start(tag) => {
                for attribute in tag.attributes() {
                    attribute.expect("a well-formed attribute");
                }
                text.clear();
            }
            Xml::Text(it) => text.push_str(&it.xml10_content()),
            Xml::GeneralRef(name) => {
                text.push_str(quick_xml::escape::resolve_predefined_entity(&name).expect("known"));
            }
            Xml::End(tag) if tag.name().as_ref() == "todo" => texts.push(text.clone()),
            Xml::End(_) => {}
            Xml::Eof => return texts,
            other @ (Xml::Empty(_)
            | Xml::CData(_)
            | Xml::Comment(_)
            | Xml::Decl(_)
            | Xml::PI(_)
            | Xml::DocType(_)) => panic!("nothing else may be in there: {other:?}"),
        }
    }
}

fn is_xml_char(ch: char) -> bool {
    matches!(ch, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Fails if a Markdown line contains markup that is not ours.
fn assert_means_nothing(text: &str) {
    let mut chars = text.chars();
    while let Some(ch) = chars.next() {
        if ch == '\\' {
            assert!(chars.next().is_some(), "an escape escapes something: {text:?}");
        } else {
            assert!(!"`*[]<>~".contains(ch), "{ch} is bare in {text:?}");
        }
    }
}

/// Journal entries in which every field is a hostile text.
fn journal(plan: &Plan, text: &str) -> Vec<Entry> {
    let entry = |revision, events| Entry {
        plan: plan.id,
        revision: Revision(revision),
        at: plan.created_at,
        actor: Actor::agent(text),
        kind: Kind::Edit,
        undoes: None,
        events,
    };
    let some = || Some(text.to_owned());
    let number = Number(1);
    let added = plan.items.values().map(|it| Event::Added { item: Box::new(it.clone()) }).collect();
    let waiting = vec![Delta::WaitingOn { before: None, after: some() }];
    let cancelled = vec![Delta::Outcome { before: None, after: some() }];
    let named = vec![
        PlanDelta::Name { before: None, after: some() },
        PlanDelta::Title { before: String::new(), after: text.to_owned() },
    ];
    vec![
        entry(1, added),
        entry(2, vec![Event::Changed { number, what: What::Waiting, deltas: waiting }]),
        entry(3, vec![Event::Changed { number, what: What::Cancelled, deltas: cancelled }]),
        entry(4, vec![Event::PlanChanged { deltas: named }]),
    ]
}

fn summary(plan: &Plan, text: &str) -> Summary {
    Summary {
        made_for: None,
        id: plan.id,
        project: text.to_owned(),
        name: Some(text.to_owned()),
        title: text.to_owned(),
        revision: plan.revision,
        end: plan.end,
        archived: false,
        open: plan.open,
        progress: plan.progress(),
        created_at: plan.created_at,
        updated_at: plan.updated_at,
        attachment: Some(AttachmentKey {
            project: text.to_owned(),
            agent: text.to_owned(),
            conversation: text.to_owned(),
            sub_agent: text.to_owned(),
            turn: text.to_owned(),
        }),
    }
}

/// Reverses [`escape::markdown`]: removes the backslashes before punctuation.
fn unmarkdown(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        match chars.peek() {
            Some(next) if ch == '\\' && next.is_ascii_punctuation() => out.extend(chars.next()),
            Some(_) | None => out.push(ch),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_a_box_is_exactly_as_wide_as_asked(
        plan in any_plan(), columns in 0_u16..130, glyphs in prop::sample::select(Glyphs::ALL.to_vec()),
    ) {
        let options = Options { glyphs, ..options(columns) };
        assert_width(&boxed::boxed(&plan, &options), columns);
        assert_width(&list::list(&plan, &options), columns);
    }

    #[test]
    fn control_characters_escapes_and_bidi_overrides_never_reach_a_terminal_raw(
        plan in any_plan(), text in any_text(), columns in 0_u16..130, colour: bool,
    ) {
        for view in terminal_views(&plan, &text, &options(columns), colour) {
            assert_harmless(&if colour { without_colour(&view) } else { view });
        }
    }

    #[test]
    fn xml_is_well_formed_for_every_input(plan in any_plan()) {
        let xml = xml::xml(&plan);
        prop_assert!(xml.chars().all(is_xml_char));
        prop_assert!(!xml.contains("]]>"));
        assert_harmless(&xml);
        let expected: Vec<String> = plan
            .listed()
            .iter()
            .map(|it| one_line(&it.title).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
            .collect();
        prop_assert_eq!(todos(&xml), expected);
    }

    #[test]
    fn control_characters_escapes_and_bidi_overrides_never_reach_html_raw(text in any_text()) {
        let html = escape::html(&text);
        assert_harmless(&html);
        prop_assert!(!html.contains(['<', '>', '"', '\'']));
        for (at, _) in html.match_indices('&') {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
            prop_assert!(known.iter().any(|it| html[at..].starts_with(it)));
        }
    }

    #[test]
    fn no_title_gets_out_of_its_line_of_markdown(plan in any_plan()) {
        let markdown = markdown::markdown(&plan);
        prop_assert_eq!(markdown.lines().count(), plan.listed().len());
        let mut titles = Vec::new();
        for line in markdown.lines() {
            let line = line.trim_start_matches(' ');
            let title = ["- [ ]", "- [x]", "- [>]", "- [-]"].iter().find_map(|it| line.strip_prefix(it));
            let title = title.expect("an item").trim_start();
            assert_means_nothing(title);
            titles.push(unmarkdown(title));
        }
        titles.sort();
        let mut expected: Vec<_> =
            plan.items.values().map(|it| one_line(&it.title).into_owned()).collect();
        expected.sort();
        prop_assert_eq!(titles, expected);
    }

    #[test]
    fn no_title_gets_out_of_its_line_of_text(plan in any_plan()) {
        let lines = if plan.items.is_empty() { 1 } else { plan.items.len() + 2 };
        prop_assert_eq!(plain::text(&plan).lines().count(), lines);
        prop_assert_eq!(plain::numbered(&plan).lines().count(), lines);
    }

    #[test]
    fn no_title_gets_out_of_its_label_in_a_graph(plan in any_plan()) {
        for line in graph::dot(&plan).lines().filter(|line| line.contains("label=")) {
            let (_, label) = line.split_once("label=\"").unwrap();
            let end = label.replace("\\\\", "__").replace("\\\"", "__").find('"').unwrap();
            prop_assert!(matches!(&label[end + 1..], rest if rest.starts_with("];") || rest.starts_with(", ")));
        }
        for line in graph::mermaid(&plan).lines().filter(|line| line.contains('[')) {
            prop_assert_eq!(line.matches('"').count(), 2);
            prop_assert!(line.contains("\"]:::"));
            let label = line.split('"').nth(1).unwrap();
            let bare = label.contains(['`', '<', '>', '[', ']', '{', '}', '|', '\\', '&']);
            prop_assert!(!bare);
        }
    }

    #[test]
    fn json_carries_every_text_as_it_was_written(plan in any_plan()) {
        let value = json::list(&plan, None, &BTreeSet::new());
        let back: serde_json::Value = serde_json::from_str(&json::render(&value)).unwrap();
        let titles: Vec<_> = back["items"].as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect();
        let expected: Vec<_> = plan.listed().into_iter().map(|it| it.title.as_str()).collect();
        prop_assert_eq!(titles, expected);
    }
}

#[test]
fn no_width_is_too_narrow_or_too_wide() {
    for columns in (0..=24).chain([u16::MAX]) {
        let plan = if columns > 24 { fixture::screen() } else { naughty() };
        for glyphs in Glyphs::ALL {
            let options = Options { glyphs, ..options(columns) };
            assert_width(&boxed::boxed(&plan, &options), columns);
            assert_width(&list::list(&plan, &options), columns);
            team::team(&plan, &Member::new("Max", None), &BTreeSet::new(), &options);
        }
    }
}

#[test]
fn any_two_moments_have_a_duration() {
    for (from, to) in [(Timestamp::MIN, Timestamp::MAX), (Timestamp::MAX, Timestamp::MIN)] {
        assert!(!duration::between(from, to).is_empty());
        assert!(!duration::ago(from, to).is_empty());
    }
}

#[test]
fn a_deep_chain_and_a_long_list_are_drawn() {
    let entries: Vec<_> = (0..10_000).map(|_| (punchlist_model::Status::Pending, "x")).collect();
    let mut plan = fixture::plan(&entries);
    for number in 2..=10_000 {
        fixture::with(&mut plan, number, |item| item.parent = Some(Number(number - 1)));
    }
    assert_eq!(list::list(&plan, &options(80)).len(), 10_004);
}
