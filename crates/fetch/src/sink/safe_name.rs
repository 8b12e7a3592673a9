//! Any text → a relative path that every file system can have, and that leads nowhere else.

/// The longest name of a file, in bytes. File systems have 255, and a suffix needs some of them.
const LONGEST: usize = 230;

/// The longest ending that is kept when a name is cut, in bytes.
const LONGEST_ENDING: usize = 16;

/// Most folders of a path; further ones are left out.
const MOST_FOLDERS: usize = 16;

/// Names that are devices on Windows, whatever stands behind their first dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The path that a text names, with folders between slashes; none if nothing of it can be a name.
pub fn path(text: &str) -> Option<String> {
    let (folders, file) = text.rsplit_once('/').unwrap_or(("", text));
    let file = name(file)?;
    let folders = folders.split('/').filter_map(name).take(MOST_FOLDERS);
    let names: Vec<String> = folders.chain([file]).collect();
    Some(names.join("/"))
}

/// One name; none for what names a folder itself or the one above.
pub fn name(text: &str) -> Option<String> {
    let is_bad = |c: char| c.is_control() || "<>:\"/\\|?*".contains(c) || is_invisible(c);
    let text: String = text
        .chars()
        .map(|c| if is_bad(c) { '_' } else { c })
        .collect();
    let text = cut(trimmed(text.trim_start()));
    if text.is_empty() {
        return None;
    }
    let is_device = is_device(text.split('.').next().unwrap_or(&text).trim_end());
    Some(if is_device {
        cut(&format!("_{text}"))
    } else {
        text
    })
}

/// Windows drops dots and spaces at the end.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(|c: char| c == '.' || c.is_whitespace())
}

fn is_device(stem: &str) -> bool {
    let stem = stem.to_lowercase();
    let numbered = ["com", "lpt"].iter();
    let mut numbers = numbered.filter_map(|port| stem.strip_prefix(port));
    let digits = [
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u{b9}", "\u{b2}", "\u{b3}",
    ];
    DEVICES.contains(&&*stem) || numbers.any(|number| digits.contains(&number))
}

/// Whether a character changes the direction of a text, or has no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A name that is short enough, with its ending.
fn cut(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let (stem, ending) = split(name);
    let mut length = LONGEST - ending.len();
    while !stem.is_char_boundary(length) {
        length -= 1;
    }
    format!("{}{ending}", trimmed(&stem[..length]))
}

/// A name, and its ending with the dot, if that is short.
pub fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= LONGEST_ENDING => name.split_at(dot),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_into_no_other_folder_and_names_no_device() {
        for (text, expected) in [
            ("a.jpg", Some("a.jpg")),
            ("a/b/c.jpg", Some("a/b/c.jpg")),
            ("/etc/passwd", Some("etc/passwd")),
            ("../../x", Some("x")),
            ("a/../x", Some("a/x")),
            ("a//./x", Some("a/x")),
            ("a/..", None),
            ("a/", None),
            ("", None),
            ("..", None),
            (" . ", None),
            ("C:\\x\\y", Some("C__x_y")),
            ("con", Some("_con")),
            ("Nul.tar.gz", Some("_Nul.tar.gz")),
            ("COM1.txt", Some("_COM1.txt")),
            ("lpt\u{b2}", Some("_lpt\u{b2}")),
            ("com", Some("com")),
            ("aux/x", Some("_aux/x")),
            ("x. . ", Some("x")),
            ("a\nb\0c\u{202e}d", Some("a_b_c_d")),
            (".htaccess", Some(".htaccess")),
            ("\u{fc}.html", Some("\u{fc}.html")),
        ] {
            assert_eq!(path(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_ending_and_whole_characters() {
        let long = format!("{}.html", "\u{fc}".repeat(200));
        let cut = path(&long).unwrap();
        assert!(
            cut.len() <= LONGEST && cut.ends_with("\u{fc}.html"),
            "{cut}"
        );
        assert_eq!(path(&"a".repeat(300)).unwrap().len(), LONGEST);
        let deep = path(&format!("{}x", "a/".repeat(100))).unwrap();
        assert_eq!(deep.split('/').count(), MOST_FOLDERS + 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_stays_inside(text in ".{0,300}") {
            if let Some(path) = path(&text) {
                for name in path.split('/') {
                    assert!(!name.is_empty() && name != "." && name != ".." && name.len() <= LONGEST);
                }
                assert_eq!(super::path(&path), Some(path));
            }
        }
    }
}
