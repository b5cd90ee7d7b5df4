//! What is understood, and how what is wrong is pointed at.

use super::told;

#[test]
fn the_example_of_the_specification() {
    insta::assert_snapshot!(told(
        "# Release 1.2
- [ ] Build
  run: cargo build --release
  verify: test -x target/release/app
  covers: src/**
- [ ] Write the notes
  agent: claude
  criteria: CHANGELOG.md has a section 1.2
- [ ] Publish
  after: Build, Write the notes
  approve: yes
  run: ./publish.sh
"
    ));
}

#[test]
fn what_people_write_is_understood() {
    insta::assert_snapshot!(told(
        "---
layout: page
---
Moving house
============

Some words before. Run: this is prose, there is no item yet.

* [x] Pack
1) [X] Label the boxes
   Run : `label --all`
   VERIFY:test -f labels
+ [>] Drive
\trun: drive \\
\t  --slowly
\tTimeout: 1h30m
\tRetry: 2, every 10s
    - [ ] Tank up
      - run: tank
      a note about it
      - see also: the manual
      1. first this
    - [-] Wash the car

   after: Pack
- [] Unpack
run: unpack

<!--
- [ ] Commented out
-->
Outside again.

## Kitchen
- [ ] Clean
  run:

  ```sh
  mop floor
    wring mop
  ```
  ```
  a block that is prose
  ```
## Bath ##
- [ ] Clean
  after: Kitchen / Clean, \"Unpack\", *drive*.
  covers: src/**/*.{rs,toml} `a b`
  verify: ls
- a plain entry
- [link](https://example.org)
- [1] a note
"
    ));
}

#[test]
fn what_is_wrong_is_pointed_at() {
    insta::assert_snapshot!(told(
        "# Wrong
- [ ] Build
  veryfy: test -x app
  timeout: soon
  retry: often
  approve: by Anna
  run: make
  run: make all
  depends on: nothing
  needs: nothing
- [ ] Build
  after: Biuld, Publish, Build
- [ ]
- [?] Ship
  run:
- [ ] Publish, then rest
  after: Test 試験, Publish
  run: |
    make
    make install
- [x] Group
  - [ ] Part
    agent: claude
    run: make
    covers: src
    after:
"
    ));
}

#[test]
fn who_waits_for_himself_is_told_by_which_way() {
    insta::assert_snapshot!(told(
        "- [ ] A
  after: C
- [ ] B
  after: A
- [ ] C
  after: B
- [ ] Own
  after: Own
- [ ] House
  - [ ] Roof
    after: House
- [ ] Garden
  after: Hedge
  - [ ] Hedge
"
    ));
}

#[test]
fn titles_with_commas_are_found_whole() {
    insta::assert_snapshot!(told(
        "- [ ] Stop, look, listen
- [ ] Stop
- [ ] look
- [ ] Cross
  after: Stop, look, listen, Stop
- [ ] Again
  after: look, Stop, \"Stop, look, listen\"
"
    ));
}

#[test]
fn the_same_title_elsewhere_is_meant_only_by_its_path() {
    insta::assert_snapshot!(told(
        "# Deploy
## Staging
- [ ] Deploy
- [ ] Test
  after: Deploy
## Production
- [ ] Deploy
  after: Staging / Test
- [ ] Test
  after: Deploy
## Afterwards
- [ ] Rest
  after: Test
- [ ] Sleep
  after: Production / Test
"
    ));
}

#[test]
fn a_file_without_a_checklist_says_what_one_looks_like() {
    insta::assert_snapshot!(
        [told(""), told("just words\n"), told("- Build\n  run: make\n")].join("---\n")
    );
}

#[test]
fn what_is_never_closed_is_pointed_at_where_it_begins() {
    insta::assert_snapshot!(
        [
            told("- [ ] A\n  run:\n  ```\n  make\n- [ ] B\n"),
            told("- [ ] A\n<!-- half\n- [ ] B\n"),
            told("- [ ] A\n  run:\n  ~~~\n\n  ~~~\n"),
        ]
        .join("---\n")
    );
}

#[test]
fn a_pointer_finds_its_place_in_long_and_strange_lines() {
    let long = format!("- [ ] A\n  after: {}, Nowhere, {}\n", "A".repeat(300), "B".repeat(300));
    insta::assert_snapshot!(
        [
            told(&long),
            told("- [ ] A\n\tafter:\t\u{1b}[31mred\u{1b}[0m, 東京\n"),
            told("\u{feff}- [ ] A\r\n  after: B\r\n"),
            told("- [ ] A\0B"),
        ]
        .join("---\n")
    );
}
