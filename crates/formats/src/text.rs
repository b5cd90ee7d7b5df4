//! Text that somebody else wrote, made safe to show: escapes, controls, width, glyphs.
