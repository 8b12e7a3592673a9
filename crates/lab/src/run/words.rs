//! Texts from drivers, made safe to show: they may not move a cursor, change a title or hide their surroundings.

use serde_json::Value;

/// Longest text that a driver's response may hold.
const LONGEST: usize = 400;

/// The text without what terminals obey; lines stay lines.
pub fn plain(text: &str) -> String {
    let safe = text.chars().map(|letter| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() || turns(letter) => '\u{fffd}',
        letter => letter,
    });
    safe.collect()
}

/// Letters that change the direction of writing (Unicode's bidirectional controls), or that nobody sees.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A response with all texts in it plain, on one line, and none too long.
pub fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(line(&text)),
        Value::Array(values) => values.into_iter().map(harmless).collect(),
        Value::Object(pairs) => {
            let pairs = pairs.into_iter();
            pairs
                .map(|(key, value)| (line(&key), harmless(value)))
                .collect()
        }
        other => other,
    }
}

/// The line of an error output that says why its program ended; none of an empty one.
///
/// Python writes its error below the frames of its last traceback, Ruby writes it first, and Node in the middle. So the
/// line is the last one that names an error, or else the last one. Lines of a stack are indented, and headings end in a
/// colon: both say where, and not what.
pub fn cause(said: &str) -> Option<String> {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let is_text = |line: &&str| !line.starts_with(char::is_whitespace) && !line.ends_with(':');
    let names_error = |line: &&str| {
        let line = line.to_lowercase();
        let words = ["error", "exception", "panic"];
        words.iter().any(|word| line.contains(word))
    };
    let mut texts = lines.clone().filter(is_text);
    let traceback = said.rfind("Traceback (most recent call last):\n");
    let raised = traceback.and_then(|at| {
        said[at..]
            .lines()
            .find(|line| is_text(line) && !line.is_empty())
    });
    let named = raised.or_else(|| texts.clone().rfind(names_error));
    let told = named.or(texts.next_back()).or(lines.next_back());
    told.map(|told| line(told.trim()))
}

fn line(text: &str) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interpreters that miss a module, and a shell.
    #[test]
    fn the_cause_is_found_wherever_a_language_writes_it() {
        let python = "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    import nothing\n\
                      ModuleNotFoundError: No module named 'nothing'\n";
        let again = format!(
            "{python}\nDuring handling of the above exception, another exception occurred:\n\n{}",
            python.replace("nothing", "other")
        );
        let ruby = "<internal:require>:86:in `require': cannot load such file -- nothing (LoadError)\n\
                    \tfrom <internal:require>:86:in `require'\n\tfrom x.rb:1:in `<main>'\n";
        let node = "node:internal/modules/cjs/loader:1080\n  throw err;\n  ^\n\nError: Cannot find module 'nothing'\n\
                    Require stack:\n- /x.js\n    at Module._load (x:1) {\n  code: 'X'\n}\n\nNode.js v18.19.0\n";
        for (said, told) in [
            (python, "ModuleNotFoundError: No module named 'nothing'"),
            (&again, "ModuleNotFoundError: No module named 'other'"),
            (
                ruby,
                "<internal:require>:86:in `require': cannot load such file -- nothing (LoadError)",
            ),
            (node, "Error: Cannot find module 'nothing'"),
            (
                "error: before\nTraceback (most recent call last):\n  File \"x.py\", line 1\n\
                 StopIteration: no more\nerror: after\n",
                "StopIteration: no more",
            ),
            ("first\nout of luck\n\n", "out of luck"),
            ("  only a \u{1b}[2Jstack\n", "only a \u{fffd}[2Jstack"),
        ] {
            assert_eq!(cause(said).as_deref(), Some(told));
        }
        assert_eq!(cause(" \n"), None);
    }

    #[test]
    fn nothing_that_terminals_obey_is_left() {
        let response = serde_json::json!({"errors_by": {"\u{1b}[2J\u{202e}x\ny": 1}, "lat_us": [[1, 2]], "what": "a\u{9b}b"});
        let expected = serde_json::json!({"errors_by": {"\u{fffd}[2J\u{fffd}x y": 1}, "lat_us": [[1, 2]], "what": "a\u{fffd}b"});
        assert_eq!(harmless(response), expected);
        assert_eq!(plain("two\nlines\u{7}"), "two\nlines\u{fffd}");
        assert_eq!(line(&"x".repeat(500)).chars().count(), 401);
    }
}
