//! Lists to choose from.

use punchlist_engine::policy::given::Given;
use punchlist_engine::policy::rules::{Placed, Rules, Whose};
use punchlist_formats::text::{Glyphs, Line, Style};
use punchlist_model::call::{Question, Standing};
use punchlist_model::store::Summary;
use punchlist_model::store::turns::Conversation;
use punchlist_model::{ConversationId, End, IdSource, PlanId, Progress, Revision, RunId};
use punchlist_testkit::naughty;

use super::super::screen::{SIZES, Screen, at, options};
use super::super::{Approvals, Dialog, DialogReply, ListDialog, ListRow, RowId, Want};
use super::{resized, screens};
use crate::prompt::tests::asked;

fn model(name: &str) -> RowId {
    RowId::Model(name.to_owned())
}

/// Rows in two groups, with previews; the first ones can be deleted.
fn rows() -> Vec<ListRow> {
    let row = |n: usize| ListRow {
        group: if n <= 3 { "Waiting for you" } else { "Your rules" }.to_owned(),
        note: format!("{n} m ago"),
        preview: vec![Line::of(&format!("The whole text of row {n}"), Style::Plain)],
        can_delete: n <= 3,
        is_current: n == 2,
        ..ListRow::new(model(&format!("{n}")), format!("Row number {n}"))
    };
    (1..=12).map(row).collect()
}

fn dialog() -> Dialog {
    Dialog::List(ListDialog::new("Approvals", "Nothing waits.", rows(), Glyphs::Unicode))
}

fn list(screen: &mut Screen) -> &mut ListDialog {
    match &mut screen.dialog {
        Dialog::List(it) => it,
        _ => panic!("not a list"),
    }
}

#[test]
fn a_list_at_all_sizes() {
    insta::assert_snapshot!(screens(dialog, "jj"));
}

#[test]
fn the_cursor_begins_on_the_row_in_use_and_enter_opens_it() {
    for size in SIZES {
        let mut screen = Screen::new(dialog(), size);
        screen.shows("› ● Row number 2");
        assert_eq!(screen.press("\r"), DialogReply::Want(Want::Open(model("2"))));
        assert_eq!(screen.press("G\r"), DialogReply::Want(Want::Open(model("12"))));
        screen.shows("› ");
    }
}

#[test]
fn a_row_is_deleted_only_after_a_yes_and_only_where_that_applies() {
    let mut screen = Screen::new(dialog(), (40, 10));
    assert_eq!(screen.press("\u{1b}[3~"), DialogReply::Stay);
    screen.shows("Delete \"Row number 2\"?");
    assert_eq!(screen.press("\r"), DialogReply::Stay, "Enter is no yes");
    assert_eq!(screen.press("n"), DialogReply::Stay);
    screen.lacks("Delete \"");
    assert_eq!(screen.press("xy"), DialogReply::Want(Want::Delete(model("2"))));
    assert_eq!(screen.press("Gx"), DialogReply::Stay);
    screen.shows("This row cannot be deleted.");
    assert_eq!(screen.press("y"), DialogReply::Stay);
}

#[test]
fn a_filter_narrows_the_rows_and_esc_clears_it_first() {
    let mut screen = Screen::new(dialog(), (40, 10));
    screen.press("/rules 12");
    screen.shows("Row number 12");
    screen.lacks("Row number 3");
    screen.press("\r");
    screen.shows("filter: rules 12");
    assert_eq!(screen.press("\r"), DialogReply::Want(Want::Open(model("12"))));
    assert_eq!(screen.escape(), DialogReply::Stay);
    screen.shows("12/12");
    assert_eq!(screen.escape(), DialogReply::Close);
    screen.press("/nothing like it\r");
    screen.shows("Nothing fits the filter.");
}

#[test]
fn a_preview_opens_also_on_a_small_screen() {
    let mut screen = Screen::new(dialog(), (40, 10));
    screen.lacks("The whole text");
    screen.press(" ");
    screen.shows("The whole text of row 2");
    assert_eq!(screen.escape(), DialogReply::Stay);
    screen.shows("› ● Row number 2");
    screen.press("?");
    screen.shows("Delete or x");
    screen.escape();
    screen.resize((200, 60));
    screen.shows("│ The whole text of row 2");
}

#[test]
fn what_was_refused_is_shown_until_the_next_key() {
    let mut screen = Screen::new(dialog(), (40, 10));
    list(&mut screen).refused("session 12ab runs");
    screen.shows("session 12ab runs");
    screen.press("j");
    screen.lacks("session 12ab runs");
}

#[test]
fn a_list_is_resized_at_every_step() {
    let keys = ["j", "G", "x", "n", "/", "1", "\r", " ", "\u{1b}", "\u{1b}", "?", "\u{1b}", "g"];
    resized(dialog, &keys, "Approvals");
}

#[test]
fn hostile_rows_stay_inside_their_lines() {
    let row = |text: String| ListRow {
        group: text.clone(),
        note: text.clone(),
        can_delete: true,
        ..ListRow::new(RowId::Member(text.clone()), text)
    };
    let rows: Vec<ListRow> =
        naughty().into_iter().filter(|it| it.text.len() < 10_000).map(|it| row(it.text)).collect();
    let count = rows.len();
    for size in SIZES {
        let list = ListDialog::new("\u{1b}[2J", "", rows.clone(), Glyphs::Unicode);
        let mut screen = Screen::new(Dialog::List(list), size);
        for _ in 0..count.div_ceil(3) {
            screen.press("x");
            screen.shows("y delete it");
            screen.press("njjj");
            assert_eq!(screen.text().lines().count(), usize::from(size.1));
        }
    }
}

fn summary(n: u8, title: &str, name: Option<&str>) -> Summary {
    Summary {
        id: PlanId(IdSource::fixed(at(0), n).nth(0)),
        project: "/home/ann/web-shop".to_owned(),
        name: name.map(str::to_owned),
        title: title.to_owned(),
        revision: Revision(3),
        end: End::Open,
        archived: false,
        open: 3,
        progress: Progress::of(2, 5, true),
        created_at: at(0),
        updated_at: at(480),
        attachment: None,
        made_for: None,
    }
}

/// The lists of the terminal UI, one below the other.
#[test]
fn the_lists_of_the_terminal_ui() {
    let plans = [summary(1, "Release 1.2", Some("release")), summary(2, "", None)];
    let conversation = Conversation {
        title: "Fix the failing tests".to_owned(),
        directory: "/home/ann/web-shop".to_owned(),
        turns: 3,
        changed_at: at(300),
        ..Conversation::new(ConversationId(IdSource::fixed(at(0), 3).nth(0)), "/p", at(0))
    };
    let models = [
        ("anthropic/claude-sonnet-4-5".to_owned(), None),
        ("openai/gpt-6.1".to_owned(), Some("no key: set OPENAI_API_KEY".to_owned())),
    ];
    let question = Question {
        asked: asked(1, "shell"),
        standing: Standing::Waiting,
        project: "/p".to_owned(),
        plan: None,
        run: RunId(IdSource::fixed(at(0), 4).nth(0)),
    };
    let rule = |text: &str| {
        let text = format!("[[policy]]\n{text}\n");
        punchlist_engine::policy::rules::read(&text).unwrap().remove(0)
    };
    let rules = Rules {
        user: vec![Placed {
            rule: rule("decision = \"allow\"\ncommand = [\"cargo\", \"test\"]"),
            line: 3,
        }],
        project: vec![Placed { rule: rule("decision = \"ask\"\ntool = \"write\""), line: 1 }],
    };
    let given = Given {
        name: "mcp.db".to_owned(),
        project: Some("/home/me/shop".to_owned()),
        is_allowed: true,
        what: "db-server --stdio".to_owned(),
    };
    let given = Approvals {
        rules,
        user_file: "/home/me/config.toml".to_owned(),
        project_file: "/home/me/shop/punchlist.toml".to_owned(),
        consents: vec![given],
    };
    let member = ("tess".to_owned(), "Tess".to_owned(), "claude, tests".to_owned());
    let current = plans[0].id;
    let lists = [
        ListDialog::plans(&plans, Some(current), &options()),
        ListDialog::plans(&[], None, &options()),
        ListDialog::sessions(&[conversation], |_| false, &options()),
        ListDialog::models(&models, Some("openai/gpt-6.1"), Glyphs::Unicode),
        ListDialog::models(&[], None, Glyphs::Unicode),
        ListDialog::themes("light", Glyphs::Unicode),
        ListDialog::approvals(&[question], &given, &options()),
        ListDialog::members(&[member], Glyphs::Unicode),
    ];
    let screens =
        lists.map(|it| Screen::new(Dialog::List(it), (80, 20)).text().trim_end().to_owned());
    insta::assert_snapshot!(screens.join("\n=====\n"));
}

#[test]
fn rules_of_the_user_can_be_deleted_and_those_of_the_project_cannot() {
    let rule =
        punchlist_engine::policy::rules::read("[[policy]]\ndecision = \"ask\"\ntool = \"write\"\n")
            .unwrap();
    let placed = |line| Placed { rule: rule[0].clone(), line };
    let rules = Rules { user: vec![placed(4)], project: vec![placed(9)] };
    let given = Approvals { rules, ..Approvals::default() };
    let list = ListDialog::approvals(&[], &given, &options());
    let mut screen = Screen::new(Dialog::List(list), (80, 24));
    let user = RowId::Rule(Whose::User, Box::new(placed(4)));
    assert_eq!(screen.press("xy"), DialogReply::Want(Want::Delete(user)));
    assert_eq!(screen.press("jxy"), DialogReply::Stay);
}
