//! Method, target and headers of a request as text, for the routes that need them.

use form_urlencoded::Parse;

/// A head as text, stored only for routes that need it.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Detail {
    /// The first value of a header; names are compared without regard to case.
    pub(crate) fn header<'d>(&'d self, name: &'d str) -> Option<&'d str> {
        self.values(name).next()
    }

    /// Every value of a header, in order.
    pub(crate) fn values<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d str> {
        let named = move |pair: &&(String, String)| pair.0.eq_ignore_ascii_case(name);
        let pairs = self.headers.iter().filter(named);
        pairs.map(|(_, value)| value.as_str())
    }

    /// The target after its question mark, as it came; empty without one.
    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// Names and values of the query, decoded; `+` is a space.
    pub(crate) fn pairs(&self) -> Parse<'_> {
        form_urlencoded::parse(self.query().as_bytes())
    }

    /// The segments of the path after its first one: `a` and `b` of `/route/a/b?c`.
    pub(crate) fn arguments(&self) -> Vec<&str> {
        crate::request::route::path(&self.target)
            .split('/')
            .skip(2)
            .collect()
    }
}
