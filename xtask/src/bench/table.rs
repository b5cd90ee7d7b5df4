//! Numbers in columns, for people.

use std::time::Duration;

/// Aligns cells: the first column to the left, the others to the right.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|it| it.get(column)).map(|it| it.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(n, (cell, width))| match n {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `1.08 M`.
pub(super) fn millions(count: u64) -> String {
    let hundredths = (count + 5_000) / 10_000;
    format!("{}.{:02} M", hundredths / 100, hundredths % 100)
}

/// `8.13 ms`.
pub(super) fn milliseconds(time: Duration) -> String {
    let hundredths = (time.as_micros() + 5) / 10;
    format!("{}.{:02} ms", hundredths / 100, hundredths % 100)
}

/// The ratio in hundredths, rounded up so that a missed goal is not shown as met.
pub(super) fn hundredths(one: u128, other: u128) -> u128 {
    if other == 0 { 0 } else { (one * 100).div_ceil(other) }
}

/// `1.35×`.
pub(super) fn times(hundredths: u128) -> String {
    format!("{}.{:02}×", hundredths / 100, hundredths % 100)
}

/// `58 µs`; milliseconds from 1 ms on.
pub(super) fn short_time(time: Duration) -> String {
    if time < Duration::from_millis(1) {
        format!("{} µs", time.as_micros())
    } else {
        milliseconds(time)
    }
}

/// `9.4 MB`.
pub(super) fn megabytes(kilobytes: u64) -> String {
    format!("{}.{} MB", kilobytes / 1024, kilobytes % 1024 * 10 / 1024)
}

/// The ratio of `other` to `one`, rounded down so that a missed goal is not shown as met: `17.9×`.
pub(super) fn as_often(other: Duration, one: Duration) -> String {
    let tenths = (other.as_nanos() * 10).checked_div(one.as_nanos()).unwrap_or(0);
    format!("{}.{}×", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["add".into(), "1".into()], vec!["x".into(), "1×é".into(), String::new()]];
        assert_eq!(table(&rows), "add    1\nx    1×é");
    }

    #[test]
    fn numbers_are_rounded_for_people_and_ratios_upwards() {
        assert_eq!(millions(1_084_999), "1.08 M");
        assert_eq!(millions(995_000), "1.00 M");
        assert_eq!(milliseconds(Duration::from_micros(8_126)), "8.13 ms");
        assert_eq!(times(hundredths(1_500_001, 1_000_000)), "1.51×");
        assert_eq!(times(hundredths(3, 2)), "1.50×");
        assert_eq!(hundredths(1, 0), 0);
        let micros = Duration::from_micros;
        assert_eq!(as_often(micros(1_799), micros(100)), "17.9×");
        assert_eq!(as_often(micros(1), micros(0)), "0.0×");
        assert_eq!(
            (short_time(micros(999)), short_time(micros(1_000))),
            ("999 µs".into(), "1.00 ms".into())
        );
        assert_eq!((megabytes(10_240), megabytes(10_239)), ("10.0 MB".into(), "9.9 MB".into()));
    }
}
