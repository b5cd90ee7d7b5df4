//! Hostile and difficult texts for tests.

use proptest::prelude::*;

/// Texts that have broken screens, and scripts that are hard to measure.
pub(crate) const NAUGHTY: &[&str] = &[
    "修复失败的测试并更新文档",
    "ｆｕｌｌ ｗｉｄｔｈ と 日本語",
    "family 👨‍👩‍👧‍👦 flag 🇩🇪🇯🇵 wave 👋🏽 heart ❤️‍🔥 key 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "e\u{301}clair n\u{303}andu\u{301} Z\u{351}\u{352}\u{353}\u{354}\u{355}a",
    "לתקן את הבדיקות (3 מתוך 7)",
    "إصلاح الاختبارات 42 الفاشلة",
    "red \u{1b}[31malert\u{1b}[0m cleared \u{1b}[2J\u{1b}[H",
    "link \u{1b}]8;;https://evil.example\u{7}click\u{1b}]8;;\u{7} title \u{1b}]0;owned\u{1b}\\",
    "c1 \u{9b}31mred\u{9b}0m osc \u{9d}0;owned\u{9c} dcs \u{90}q#0\u{9c} end",
    "evil \u{202e}gnp.exe\u{202c} \u{2066}iso\u{2069} \u{200f}mark",
    "]]> <b onclick=\"x('y')\">bold</b> & <!-- -->",
    "line one\nline two\r\n- [x] injected\ttab",
    "bell\u{7} back\u{8} del\u{7f} nul\u{0} zero\u{200b}width\u{feff}",
    "[x] # `code` *bold* _under_ snake_case ~~gone~~ | [a](b) ![c](d) &lt; \\",
    "",
    "\u{1b}]0;never ends",
];

/// Any text, mostly made of dangerous pieces.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(
        prop_oneof![
            3 => prop::sample::select(NAUGHTY).prop_map(str::to_owned),
            2 => prop::sample::select(vec![
                "\u{1b}", "\u{1b}[", "\u{1b}]", "\u{1b}P", "\u{9b}", "\u{9d}", "\u{7}", "\u{200d}",
                "\u{200c}", "\u{fe0f}", "\u{301}", "\u{1f3fb}", "👩", "🇩", "\u{1100}", "\u{1161}",
                "\u{644}\u{627}", "\u{600}", "क्ष", "\u{e0041}", "\u{fffe}", "\u{ffff}", "m", " ",
                "\u{2028}", "\u{85}", "\u{3164}", "\u{ad}", "\u{1b}\u{1b}", "Ü", "日",
            ])
            .prop_map(str::to_owned),
            2 => any::<String>(),
            1 => any::<char>().prop_map(String::from),
            1 => "[a-z ]{0,30}",
        ],
        0..5,
    );
    pieces.prop_map(|pieces| pieces.concat())
}
