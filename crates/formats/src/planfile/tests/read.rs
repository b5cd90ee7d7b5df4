//! How files are read, and how problems are shown.

use super::described;

#[test]
fn the_example_of_the_specification() {
    insta::assert_snapshot!(described(
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
    insta::assert_snapshot!(described(
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
    insta::assert_snapshot!(described(
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
    insta::assert_snapshot!(described(
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
    insta::assert_snapshot!(described(
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
    insta::assert_snapshot!(described(
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
        [described(""), described("just words\n"), described("- Build\n  run: make\n")]
            .join("---\n")
    );
}

#[test]
fn what_is_never_closed_is_pointed_at_where_it_begins() {
    insta::assert_snapshot!(
        [
            described("- [ ] A\n  run:\n  ```\n  make\n- [ ] B\n"),
            described("- [ ] A\n<!-- half\n- [ ] B\n"),
            described("- [ ] A\n  run:\n  ~~~\n\n  ~~~\n"),
        ]
        .join("---\n")
    );
}

#[test]
fn a_pointer_finds_its_place_in_long_and_strange_lines() {
    let long = format!("- [ ] A\n  after: {}, Nowhere, {}\n", "A".repeat(300), "B".repeat(300));
    insta::assert_snapshot!(
        [
            described(&long),
            described("- [ ] A\n\tafter:\t\u{1b}[31mred\u{1b}[0m, 東京\n"),
            described("\u{feff}- [ ] A\r\n  after: B\r\n"),
            described("- [ ] A\0B"),
        ]
        .join("---\n")
    );
}

#[test]
fn a_title_that_an_editor_broke_is_kept_whole_and_a_sentence_below_it_is_prose() {
    insta::assert_snapshot!(described(
        "- [ ] Move all orders of the old shop
  into the new tables
  and check them
  run: make move
- [ ] Write down what the migration of the customers' addresses does with
  Swiss postal codes
- [ ] Lazily broken
over two lines
- [ ] Build
  It takes a while.
  run: make
- [ ] Ask Anna.
  she knows
- [ ] Apart

  from this
- [ ] Nearly
  veryfy: x
"
    ));
}

#[test]
fn a_block_under_an_item_ends_with_the_item() {
    insta::assert_snapshot!(
        [
            described("- [ ] A\n  run:\n  ```sh\n  make\n- [ ] B\n  run: ls\n"),
            described("- [ ] A\n  ```\n  words\n  - [ ] in the block\n- [ ] B\n"),
            described("- [ ] A\n  - [ ] A1\n    run:\n    ```\n    make\n  - [ ] A2\n"),
            described("- [ ] A\n  run:\n  ```\n  cat <<X\nfar left\nX\n  ```\n- [ ] B\n"),
            described("- [ ] A\n  ```\n  words\n"),
            described("- [ ] A\n  run:\n  ```\n  make\n"),
        ]
        .join("---\n")
    );
}

#[test]
fn boxes_of_other_notations_are_read() {
    insta::assert_snapshot!(described(
        "- [~] Half done
- [/] Half done too
- [c] Given up
- [C] Given up too
• [ ] With a dot
◦ [x] With a ring
- [ ]tight
- [x]tight and done
- [x](https://example.org)
- [a]nnotation
- [?]what
> - [ ] Somebody else's
> a quotation
"
    ));
}

#[test]
fn a_sentence_with_code_in_it_is_no_command() {
    insta::assert_snapshot!(described(
        "- [ ] A
  Run: `x` in `y`
  run: make
- [ ] B
  verify: the tests with `make test`
- [ ] C
  run: `make all`
  verify: ``test -f `a b` ``
- [ ] D
  run: `` make it ``
"
    ));
}

#[test]
fn a_text_over_the_limit_is_pointed_at_in_its_line() {
    let limits = punchlist_model::Limits { title: 10, text: 20, ..Default::default() };
    let text =
        "- [ ] Short\n- [ ] Much too long a title\n- [ ] Prose\n\n  Words and words and words.\n";
    let mut file = crate::planfile::read(text);
    assert!(file.is_sound());
    file.hold_to(&limits);
    let described: Vec<String> =
        file.problems.iter().map(|it| format!("{}:{} {}", it.line, it.column, it.what)).collect();
    assert_eq!(
        described,
        [
            "2:7 a title of 21 characters; the limit is 10",
            "3:7 prose of 26 characters; the limit is 20",
        ]
    );
    assert!(!file.is_sound());
}

#[test]
fn what_is_in_a_box_does_not_change_where_its_title_ends() {
    for length in 45..65 {
        let title = "t".repeat(length);
        let of = |sign: &str| {
            super::super::read(&format!("- [{sign}] {title}\nA\n")).items[0].title.clone()
        };
        let open = of(" ");
        for sign in ["", "  ", "x", ">", "~"] {
            assert_eq!(of(sign), open, "{sign:?} {length}");
        }
    }
}
