//! The pictures of a team in `docs/screens.md`.

use super::*;
use crate::terminal_pictures::Stage;

#[test]
fn a_team_in_tmux_works_side_by_side_and_asks() {
    let world = world(TEAM);
    let Some(stage) = Stage::open(&world, 120) else { return };
    let (bin, file) = (world.path("home/bin"), world.path("team.toml"));
    let starts = |parts: &str| {
        let path = format!("PATH={}:$PATH", bin.display());
        let line = format!("clear; {path} {parts} {PROGRAM} team --file {}", file.display());
        // A question gets keys after a pause, so the clock must run.
        stage.types(&["unset PUNCHLIST_NOW", "Enter", &format!("{line}; echo end $?"), "Enter"]);
        stage.shows("nobody addressed yet");
    };
    starts("PART_claude=hangs PART_codex=hangs PART_gemini=hangs");
    stage.types(&["@all fix the parser", "Enter"]);
    for name in ["Plan (Max)", "Plan (kim)", "Plan (zoe)"] {
        stage.shows(name);
    }
    stage.picture("team");
    stage.types(&["Escape"]);
    stage.shows("zoe was stopped");
    stage.types(&["C-d"]);
    stage.shows("end 0");
    starts("PART_claude=asks");
    stage.types(&["@max install it", "Enter"]);
    stage.shows("y once");
    stage.picture("team-question");
    stage.types(&["n"]);
    stage.shows("Claude has fixed it.");
    stage.types(&["C-d"]);
    stage.shows("end 0");
}
