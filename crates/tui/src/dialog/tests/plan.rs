//! The plan dialog.

use std::sync::Arc;

use pollster::block_on;
use punchlist_engine::engine::{ItemText, PlanAct};
use punchlist_formats::view::Options;
use punchlist_model::store::memory::Memory;
use punchlist_model::store::{Change, NewPlan, PlanStore};
use punchlist_model::{
    Actor, Ctx, IdSource, ItemRef, NewItem, Number, Op, Place, Plan, Position, Status,
};
use punchlist_testkit::naughty;

use super::super::screen::{SIZES, Screen, at, item_id, of_plan, options, plan, release, with};
use super::super::{Dialog, DialogReply, PlanDialog, Want};
use super::{resized, screens};

fn dialog(plan: Plan) -> Dialog {
    Dialog::Plan(Box::new(PlanDialog::new(plan, Actor::person("ann"), options())))
}

fn by(number: u32) -> ItemRef {
    ItemRef::Both(Number(number), item_id(number))
}

fn wants(act: PlanAct) -> DialogReply {
    DialogReply::Want(Want::Plan(act))
}

#[test]
fn the_tree_at_all_sizes() {
    insta::assert_snapshot!(screens(|| dialog(release()), "j"));
}

#[test]
fn the_graph_at_all_sizes() {
    insta::assert_snapshot!(screens(|| dialog(release()), "\tj"));
}

#[test]
fn the_details_of_an_item_at_all_sizes() {
    let make = || {
        let mut plan = PlanDialog::new(release(), Actor::person("ann"), options());
        plan.set_output(Number(2), "\u{1b}[31mreading CHANGELOG.md\u{1b}[0m\n3 pages written");
        Dialog::Plan(Box::new(plan))
    };
    insta::assert_snapshot!(screens(make, "j\rG"));
}

#[test]
fn a_text_that_is_typed_at_all_sizes() {
    insta::assert_snapshot!(screens(|| dialog(release()), "jetx"));
}

#[test]
fn the_keys_of_the_plan_at_all_sizes() {
    insta::assert_snapshot!(screens(|| dialog(release()), "?"));
}

#[test]
fn the_journal_says_who_did_what() {
    let store = Arc::new(Memory::default());
    let source = |n: i64| IdSource::fixed(at(n), u8::try_from(n).unwrap());
    let id = punchlist_model::PlanId(source(0).nth(0));
    block_on(store.create(NewPlan::new(id, "/p", at(0)))).unwrap();
    let add = |title: &str| Op::Add(Box::new(NewItem::titled(title)));
    for (n, by, op) in [
        (1, Actor::agent("claude"), add("Dig")),
        (2, Actor::agent("claude"), add("Pour")),
        (3, Actor::person("ann"), Op::Cancel { item: Number(2).into(), reason: None }),
    ] {
        let ctx = Ctx { actor: by.clone(), ..Ctx::new(by.name.clone(), at(n), source(n)) };
        block_on(store.change(id, Change::new(vec![op], ctx))).unwrap();
    }
    let plan = block_on(store.whole(id)).unwrap();
    let journal = block_on(store.journal(id, punchlist_model::Revision(0), 100)).unwrap();
    let mut screen = of_plan(plan, (80, 24));
    assert_eq!(screen.press("\t"), DialogReply::Stay);
    assert_eq!(screen.press("\t"), DialogReply::Want(Want::Journal));
    assert!(screen.plan().shows_journal());
    screen.shows("The journal is empty.");
    screen.plan().set_journal(journal);
    screen.shows("claude   added 1 \"Dig\"");
    screen.shows("you      cancelled 2 \"Pour\"");
    assert_eq!(screen.press("\t"), DialogReply::Stay);
    // The history of an item has only its own entries.
    screen.press("j\r");
    screen.shows("cancelled 2");
    screen.lacks("added 1");
}

#[test]
fn every_act_has_a_key() {
    for (keys, act) in [
        ("js", PlanAct::Start(by(2))),
        ("jr", PlanAct::Release(by(2))),
        ("r", PlanAct::Reopen(by(1))),
        ("jv", PlanAct::Verify(Number(2))),
        ("jp", PlanAct::Approve(Number(2))),
        ("u", PlanAct::Undo),
        ("jd\r", PlanAct::Done { item: by(2), outcome: String::new(), with_children: false }),
        ("jDok\r", PlanAct::Done { item: by(2), outcome: "ok".into(), with_children: true }),
        ("jxtoo late\r", PlanAct::Skip { item: by(2), reason: "too late".into() }),
        ("jwlegal\r", PlanAct::Wait { item: by(2), on: "legal".into() }),
        // Item 4 waits already; Ctrl-U empties the text, which ends the wait.
        ("Gkw\u{15}\r", PlanAct::Wait { item: by(4), on: String::new() }),
        ("jet!\r", edit(ItemText::Title, "Update documentation!")),
        ("jec\u{15}why\r", edit(ItemText::Context, "why")),
        ("jer\u{15}\r", edit(ItemText::Criteria, "")),
        ("jJ", PlanAct::Move { item: by(2), to: Place::After(by(3)) }),
        ("jK", PlanAct::Move { item: by(2), to: Place::Before(by(1)) }),
        ("j>", PlanAct::Nest { item: by(2), parent: Some(by(1)) }),
        ("jj<", PlanAct::Nest { item: by(6), parent: None }),
        ("jaNew\r", PlanAct::Add { title: "New".into(), place: Place::After(by(2)), parent: None }),
        ("jANew\r", PlanAct::Add { title: "New".into(), place: Place::Back, parent: Some(by(2)) }),
        (
            "jjaNew\r",
            PlanAct::Add {
                title: "New".into(),
                place: Place::After(by(6)),
                parent: Some(Number(2).into()),
            },
        ),
    ] {
        for size in SIZES {
            let mut screen = of_plan(release(), size);
            assert_eq!(screen.press(keys), wants(act.clone()), "{keys:?} at {size:?}");
        }
    }
}

fn edit(text_of: ItemText, text: &str) -> PlanAct {
    PlanAct::Edit { item: by(2), text_of, text: text.to_owned() }
}

#[test]
fn acts_that_change_nothing_are_not_wanted() {
    for keys in ["K", "GJ", "<", ">", "jet\r", "ja\r", "ja  \r", "jez", "Z"] {
        let mut screen = of_plan(release(), (80, 24));
        assert_eq!(screen.press(keys), DialogReply::Stay, "{keys:?}");
    }
}

#[test]
fn an_empty_plan_takes_a_first_item() {
    let mut screen = of_plan(plan::<&str>(&[]), (40, 10));
    screen.shows("There is no item yet: a adds one.");
    assert_eq!(screen.press("s"), DialogReply::Stay);
    let first = PlanAct::Add { title: "Dig".into(), place: Place::Back, parent: None };
    assert_eq!(screen.press("aDig\r"), wants(first));
    screen.plan().set_plan(plan(&[(Status::Pending, "Dig")]));
    screen.plan().told("added 1 \"Dig\"");
    screen.shows("› ○ 1  Dig");
    screen.shows("added 1");
}

#[test]
fn items_that_are_added_one_after_the_other_are_in_that_order() {
    let mut screen = of_plan(plan(&[(Status::Pending, "Dig")]), (40, 10));
    let add = |title: &str, after| {
        let place = Place::After(by(after));
        wants(PlanAct::Add { title: title.to_owned(), place, parent: None })
    };
    assert_eq!(screen.press("aPour\r"), add("Pour", 1));
    screen.plan().told("added 2 \"Pour\"");
    screen.plan().set_plan(plan(&[(Status::Pending, "Dig"), (Status::Pending, "Pour")]));
    screen.shows("› ○ 2  Pour");
    assert_eq!(screen.press("aPaint\r"), add("Paint", 2));
}

#[test]
fn a_refusal_is_shown_in_full_and_the_typed_text_comes_back() {
    let mut screen = of_plan(release(), (40, 10));
    screen.press("jdall of it\r");
    screen.plan().refused(
        "item 2 \"Update documentation\" cannot be completed: item 7 \"API reference\" under it is open",
    );
    let text = screen.text();
    assert!(text.contains("item 2 \"Update documentation\" cannot"), "{text}");
    assert!(text.contains("completed: item 7 \"API reference\""), "{text}");
    assert!(text.contains("under it is open"), "{text}");
    assert!(text.contains("> all of it"), "{text}");
    screen.escape();
    screen.lacks("all of it");
    // An act that succeeded keeps nothing.
    screen.press("dfine\r");
    screen.plan().told("completed 2");
    screen.plan().refused("another thing");
    screen.lacks("> fine");
}

#[test]
fn esc_goes_one_step_back_at_a_time() {
    let mut screen = of_plan(release(), (80, 24));
    screen.press("/guide\r");
    screen.press("\r");
    screen.press("x");
    screen.shows("Why is 6 \"Install guide\" skipped?");
    assert_eq!(screen.escape(), DialogReply::Stay);
    screen.lacks("Why is");
    screen.shows("item 6");
    assert_eq!(screen.escape(), DialogReply::Stay);
    screen.shows("filter: guide");
    assert_eq!(screen.escape(), DialogReply::Stay);
    screen.shows("Choose the licence");
    assert_eq!(screen.escape(), DialogReply::Close);
}

#[test]
fn a_filter_leaves_the_items_that_have_all_its_words() {
    let mut screen = of_plan(release(), (40, 10));
    screen.press("/THE b");
    screen.shows("Run the final build");
    screen.lacks("Fix the failing tests");
    screen.press("zzz\r");
    screen.shows("No item fits the filter.");
    assert_eq!(screen.press("s"), DialogReply::Stay, "no item is selected");
    screen.escape();
    screen.shows("Fix the failing tests");
}

#[test]
fn the_selection_stays_with_its_item_while_others_change_the_plan() {
    for size in SIZES {
        let mut screen = of_plan(release(), size);
        screen.press("G");
        screen.shows("› ✗ 5");
        // Another item comes first, and the selected one gets another title and status.
        let mut changed = release();
        with(&mut changed, 5, |it| {
            it.position = Some(Position(1));
            it.title = "Port to BSD".to_owned();
            it.status = Status::Pending;
        });
        with(&mut changed, 1, |it| it.position = Some(Position(5)));
        screen.plan().set_plan(changed);
        screen.shows("› ○ 5  Port to BSD");
        assert_eq!(screen.press("s"), wants(PlanAct::Start(by(5))));
    }
}

#[test]
fn no_key_acts_on_an_item_that_was_not_chosen() {
    let mut screen = of_plan(release(), (80, 24));
    screen.press("G");
    let mut changed = release();
    with(&mut changed, 5, |it| {
        it.position = None;
        it.superseded_at = Some(at(599));
    });
    screen.plan().set_plan(changed);
    screen.shows("5 \"Port to Windows\" is no longer on the list.");
    for key in ["s", "x", "d", "e", "v", "\r", "J"] {
        assert_eq!(screen.press(key), DialogReply::Stay, "{key:?}");
        screen.shows("No item is selected.");
    }
    screen.press("k");
    assert_eq!(screen.press("s"), wants(PlanAct::Start(by(4))), "the row in its place");
}

#[test]
fn a_change_to_the_text_that_is_edited_is_told_and_the_draft_stays() {
    let mut screen = of_plan(release(), (80, 24));
    screen.press("jet and more");
    let mut changed = release();
    with(&mut changed, 2, |it| it.title = "Update the guide".to_owned());
    screen.plan().set_plan(changed.clone());
    screen.shows("The title was changed meanwhile; it is now \"Update the guide\".");
    screen.shows("> Update documentation and more");
    screen.plan().set_plan(changed);
    let act = PlanAct::Edit {
        item: by(2),
        text_of: ItemText::Title,
        text: "Update documentation and more".to_owned(),
    };
    assert_eq!(screen.press("\r"), wants(act));
}

#[test]
fn durations_follow_the_clock() {
    let mut screen = of_plan(release(), (80, 24));
    screen.shows("claude  1 m");
    screen.plan().set_options(Options::plain(at(830)));
    screen.shows("claude  5 m");
}

#[test]
fn open_details_follow_their_item_and_close_when_it_is_erased() {
    let mut screen = of_plan(release(), (80, 24));
    assert_eq!(screen.press("j\r"), DialogReply::Want(Want::Item(Number(2))));
    screen.shows("held by");
    let mut changed = release();
    with(&mut changed, 2, |it| it.outcome = Some("half done".to_owned()));
    screen.plan().set_plan(changed);
    screen.shows("half done");
    let mut erased = release();
    erased.items.remove(&Number(2));
    screen.plan().set_plan(erased);
    screen.shows("tree");
    screen.shows("The selected item is no longer on the list.");
}

#[test]
fn a_thousand_items_scroll_and_the_selected_one_is_always_seen() {
    let titles: Vec<(Status, String)> =
        (1..=1_000).map(|n| (Status::Pending, format!("Step number {n}"))).collect();
    for size in SIZES {
        let mut screen = of_plan(plan(&titles), size);
        screen.press("G");
        screen.shows("› ○ 1000  Step number 1000");
        screen.press("g\u{4}\u{4}jj");
        let text = screen.text();
        assert_eq!(text.matches('›').count(), 1, "{text}");
        for _ in 0..300 {
            screen.press("j");
        }
        assert_eq!(screen.text().matches('›').count(), 1);
        screen.press("/number 77");
        screen.shows("Step number 77");
    }
}

#[test]
fn hostile_texts_stay_inside_their_rows() {
    let titles: Vec<(Status, String)> = naughty()
        .into_iter()
        .filter(|it| it.text.len() < 10_000)
        .enumerate()
        .map(|(at, it)| (Status::ALL[at % 4], it.text))
        .collect();
    let mut hostile = plan(&titles);
    hostile.title = "\u{1b}[2J\u{202e}plan".to_owned();
    let numbers: Vec<Number> = hostile.items.keys().copied().collect();
    for number in numbers {
        let item = hostile.items.get_mut(&number).unwrap();
        item.context = item.title.clone();
        item.waiting_on = Some(item.title.clone());
        item.outcome = Some(item.title.clone());
    }
    for size in SIZES {
        let mut screen = of_plan(hostile.clone(), size);
        let rows = usize::from(size.1) - 3;
        let fits = |screen: &Screen| {
            let text = screen.text();
            assert_eq!(text.split('\n').count(), usize::from(size.1), "{text}");
            assert!(text.lines().last().is_some_and(|it| it.starts_with("j/k")), "{text}");
        };
        // The tree, the graph and the journal, page by page.
        for _ in 0..3 {
            for _ in 0..titles.len().div_ceil(rows) {
                fits(&screen);
                screen.press("\u{1b}[6~");
            }
            screen.press("g\t");
        }
        for _ in 0..titles.len() {
            screen.press("\r");
            fits(&screen);
            screen.escape();
            screen.press("et");
            screen.shows("The title of");
            screen.escape();
            screen.press("j");
        }
    }
}

#[test]
fn a_huge_title_is_cut_before_it_is_drawn() {
    let huge = "a".repeat(1 << 16);
    let mut screen = of_plan(plan(&[(Status::Pending, huge)]), (40, 10));
    screen.shows("› ○ 1  aaaaaaaaaaaa");
    screen.press("\r");
    screen.press("G");
    screen.shows("item 1");
}

#[test]
fn the_plan_is_resized_at_every_step() {
    let keys = [
        "j", "G", "\t", "\t", "\t", "g", "j", "\r", "G", "\u{1b}", "e", "t", "x", "\u{1b}", "/",
        "a", "\r", "\u{1b}", "?", "j", "\u{1b}", "x", "no", "\u{1b}",
    ];
    resized(|| dialog(release()), &keys, "Release 1.2");
}

#[test]
fn the_window_follows_the_cursor_when_the_screen_becomes_small() {
    let mut screen = Screen::new(dialog(release()), (200, 60));
    screen.press("G");
    screen.resize((40, 10));
    screen.shows("› ✗ 5");
    screen.resize((40, 4));
    screen.shows("› ✗ 5");
}
