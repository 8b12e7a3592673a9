//! Lines on stderr that may be lost: nobody has to read them, so a closed stderr is no failure
//! (`hecaton sweep 2>&1 | head -3`).

/// Writes a line on stderr; an error of writing is ignored. The macro of the standard library would panic.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
