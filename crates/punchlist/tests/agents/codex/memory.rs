//! What survives the end of a session of Codex.

use punchlist_testkit::features::{Agent, Feature};
use punchlist_testkit::model::{Message, Model, Request, Script};
use serde_json::json;

use super::plans::plan;
use super::wired::{OPEN, installed};
use super::{DIRECT, IN_CODE};
use crate::place::Place;
use crate::run::{assert_says, offered};
use crate::shown::shows;

/// The offer that a new session gets about the open items of an ended one: one line, without their
/// titles.
const OFFER: &str = "2 items are still open from an earlier session";

/// Runs a session that leaves two items open; then a model that follows the script.
fn after_one_that_asked(name: &str, script: Script) -> (Place, punchlist_testkit::model::Server) {
    let first = match name {
        IN_CODE => Script::new().calls("exec", super::plans::in_code(&OPEN)),
        _ => Script::new().calls("update_plan", plan(&OPEN)),
    };
    let model =
        Model::new(script).conversation("the first", first.stops("TOML or JSON?")).serve().unwrap();
    let place = installed(&model, name);
    place.gate("off");
    place.codex(&["You are the first"]).ends().completed();
    (place, model)
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn a_new_session_is_offered_what_an_ended_one_left_and_gets_it_when_it_adopts() {
    let _shows = shows(Agent::Codex, Feature::Adoption, "");
    for name in [DIRECT, IN_CODE] {
        let call = move |request: &Request| {
            let adopt = offered(&request.text());
            if name == DIRECT {
                return Message::new().calls("exec_command", json!({"cmd": adopt}));
            }
            let code = format!("text(await tools.exec_command({}));", json!({"cmd": adopt}));
            Message::new().calls("exec", json!(code))
        };
        let script = Script::new().then(call).stops("Are you sure?").stops("Shall I go on?");
        let (place, model) = after_one_that_asked(name, script);
        // Codex's sandbox would block access to the database.
        let free = ["-s", "danger-full-access", "What is to be done?"];
        let after = place.codex(&free).ends().completed().session();
        let requests = model.requests_of("");
        let told = requests[0].text();
        assert_says(&told, &[OFFER, "punchlist adopt"], &["Build it", "Test it"]);
        assert_eq!(told.lines().filter(|it| it.contains("punchlist adopt")).count(), 1, "{told}");
        let result = &requests[1].results()[0];
        assert_says(&result.text, &["Build it", "Test it"], &[OFFER]);

        // From now on the items belong to this session: shown when it is resumed, and offered to
        // nobody.
        place.codex(&["resume", &after, "Go on"]).ends().completed();
        let told = model.requests_of("")[2].news();
        assert_says(&told, &["Go on", "[ ] 2. Build it", "[ ] 3. Test it"], &[OFFER]);
    }
}

#[test]
#[ignore = "needs Codex: cargo xtask test agents"]
fn what_a_person_adopts_for_a_session_is_shown_to_it_with_the_next_prompt() {
    let script = Script::new().stops("Shall I go on?").stops("Are you sure?");
    let (place, model) = after_one_that_asked(DIRECT, script);
    let after = place.codex(&["What is to be done?"]).ends().completed().session();
    place.punchlist(&["adopt", "--session", &after]);
    place.codex(&["resume", &after, "Go on"]).ends().completed();
    let told = model.requests_of("")[1].news();
    assert_says(&told, &["Go on", "[ ] 2. Build it", "[ ] 3. Test it"], &[OFFER]);
    assert_eq!(told.matches("2. Build it").count(), 1, "{told}");
}
