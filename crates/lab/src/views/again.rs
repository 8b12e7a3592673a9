//! The command that measures something again: as it was given, without where it wrote to.

/// Without `--out` (or `-o`) and `--force`: run again, it must not write over what it repeats.
pub(super) fn again(command: &str) -> String {
    let mut remaining = Vec::new();
    let mut words = words(command).into_iter();
    while let Some(word) = words.next() {
        match word {
            "--out" | "-o" => drop(words.next()),
            "--force" => {}
            word if word.starts_with("--out=") || is_short(word) => {}
            word => remaining.push(word),
        }
    }
    remaining.join(" ")
}

/// Whether it is `-o` with its value in one word.
fn is_short(word: &str) -> bool {
    word.starts_with("-o")
}

/// The words of a shell's line, as they are written: spaces between quotes do not part them.
fn words(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = line.split(|c| {
        quoted ^= c == '\'';
        c == ' ' && !quoted
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::again;

    #[test]
    fn where_it_wrote_to_is_left_out() {
        let given =
            "hecaton sweep --out '/tmp/my runs/a' --client x --force --out=b --set 'a b --out c'";
        assert_eq!(again(given), "hecaton sweep --client x --set 'a b --out c'");
        assert_eq!(again("hecaton sweep -o a -r 3"), "hecaton sweep -r 3");
        assert_eq!(again("hecaton sweep -c 5 -oa"), "hecaton sweep -c 5");
    }
}
