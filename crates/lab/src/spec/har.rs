//! The requests of a HAR file, as a browser's developer tools or a proxy save it: what takes turns at one's own
//! service.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use url::Url;

use super::Usage;

/// Header fields that belong to a connection or to the client, which makes its own.
const OF_THE_CLIENT: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// One request, as drivers read it: a JSON object a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixedRequest {
    /// Its method, upper case.
    pub method: String,
    /// Its URL, whole and without a fragment.
    pub url: String,
    /// Its header fields; those of one name are joined.
    pub fields: BTreeMap<String, String>,
    /// Its body; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// The requests of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Har {
    /// Those to the origin of the first, in their order.
    pub requests: Vec<MixedRequest>,
    /// How many go to other origins, and take no part.
    pub others: u64,
}

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Saved,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    text: Option<String>,
    #[serde(default)]
    params: Vec<Pair>,
}

impl Har {
    /// Whether a text is one: a JSON object, and no list of URLs.
    pub fn is_one(text: &str) -> bool {
        text.trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with('{')
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// [`Usage`] when it is no HAR, or has no request that can be sent.
    pub fn read(text: &str) -> Result<Har, Usage> {
        let file: File =
            serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
                Usage(format!(
                    "the file is not a HAR ({error}); save one in the developer tools of a browser"
                ))
            })?;
        let mut har = Har::default();
        let mut origin = None;
        for Entry { request } in file.log.entries {
            let Some(url) = Url::parse(&request.url).ok().filter(is_http) else {
                continue; // data:, ws: and the like
            };
            match *origin.get_or_insert_with(|| url.origin()) == url.origin() {
                true => har.requests.push(request.into_request(url)?),
                false => har.others += 1,
            }
        }
        match har.requests.is_empty() {
            true => Err(Usage(
                "the HAR has no request to an http or https URL".into(),
            )),
            false => Ok(har),
        }
    }

    /// Gives every request these header fields, in place of its own of that name.
    pub fn add(&mut self, fields: &BTreeMap<String, String>) {
        for request in &mut self.requests {
            let own = &mut request.fields;
            own.retain(|name, _| !fields.keys().any(|new| new.eq_ignore_ascii_case(name)));
            own.extend(fields.clone());
        }
    }

    /// All methods, each once.
    pub fn methods(&self) -> BTreeSet<String> {
        let methods = self.requests.iter().map(|request| request.method.clone());
        methods.collect()
    }

    /// The requests as drivers read them.
    pub fn lines(&self) -> String {
        let line =
            |request| serde_json::to_string(request).expect("requests are plain data") + "\n";
        self.requests.iter().map(line).collect()
    }
}

impl Saved {
    fn into_request(self, mut url: Url) -> Result<MixedRequest, Usage> {
        let method = self.method.to_ascii_uppercase();
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(Usage(format!(
                "`{}` in the HAR is not an HTTP method",
                self.method
            )));
        }
        url.set_fragment(None);
        let mut fields: BTreeMap<String, String> = BTreeMap::new();
        for Pair { name, value } in self.headers {
            let is_own = OF_THE_CLIENT
                .iter()
                .any(|own| own.eq_ignore_ascii_case(&name));
            // `:path` and the like are how HTTP/2 writes the URL.
            if is_own || !is_field(&name, &value) {
                continue;
            }
            let joint = if name.eq_ignore_ascii_case("cookie") {
                "; "
            } else {
                ", "
            };
            let same = fields
                .keys()
                .find(|known| known.eq_ignore_ascii_case(&name))
                .cloned();
            let own = fields.entry(same.unwrap_or(name)).or_default();
            if !own.is_empty() {
                own.push_str(joint);
            }
            own.push_str(&value);
        }
        let body = self.post_data.and_then(PostData::body);
        Ok(MixedRequest {
            method,
            url: url.into(),
            fields,
            body,
        })
    }
}

impl PostData {
    fn body(self) -> Option<String> {
        if self.text.is_some() || self.params.is_empty() {
            return self.text;
        }
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for Pair { name, value } in &self.params {
            form.append_pair(name, value);
        }
        Some(form.finish())
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// Whether this is the name and the value of a header field.
pub(super) fn is_field(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_text = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
    !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(is_text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn har(requests: &[serde_json::Value]) -> String {
        let entries: Vec<_> = requests
            .iter()
            .map(|request| json!({ "request": request }))
            .collect();
        json!({ "log": { "version": "1.2", "entries": entries } }).to_string()
    }

    #[test]
    fn requests_to_the_first_origin_take_part_with_method_fields_and_body() {
        let text = har(&[
            json!({ "method": "get", "url": "https://a.test/x?y=1#z", "headers": [
                { "name": ":authority", "value": "a.test" }, { "name": "Host", "value": "a.test" },
                { "name": "Cookie", "value": "a=1" }, { "name": "cookie", "value": "b=2" },
                { "name": "Accept-Encoding", "value": "br" }, { "name": "X-Bad", "value": "a\r\nb" } ] }),
            json!({ "method": "GET", "url": "https://other.test/" }),
            json!({ "method": "GET", "url": "data:text/plain,x" }),
            json!({ "method": "POST", "url": "https://a.test/form",
                "postData": { "params": [{ "name": "k", "value": "v w" }, { "name": "e" }] } }),
            json!({ "method": "PUT", "url": "https://a.test:443/json", "postData": { "text": "{\"é\": 1}" } }),
        ]);
        assert!(Har::is_one(&text) && !Har::is_one("http://127.0.0.1/\n"));
        let mut har = Har::read(&text).unwrap();
        assert_eq!((har.requests.len(), har.others), (3, 1));
        assert_eq!(har.requests[0].url, "https://a.test/x?y=1");
        assert_eq!(
            har.requests[0].fields,
            BTreeMap::from([("Cookie".into(), "a=1; b=2".into())])
        );
        assert_eq!(har.requests[1].body.as_deref(), Some("k=v+w&e="));
        assert_eq!(
            har.methods(),
            ["GET", "POST", "PUT"].map(String::from).into()
        );
        har.add(&BTreeMap::from([("COOKIE".into(), "c=3".into())]));
        let lines = har.lines();
        assert_eq!(lines.lines().count(), 3);
        let first: MixedRequest = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(
            first.fields,
            BTreeMap::from([("COOKIE".into(), "c=3".into())])
        );
    }

    #[test]
    fn what_is_no_har_or_has_no_request_is_refused() {
        for (text, words) in [
            ("{\"log\": 1}", "not a HAR"),
            ("{}", "not a HAR"),
            (&har(&[]), "no request"),
            (
                &har(&[json!({ "method": "G T", "url": "http://a.test/" })]),
                "not an HTTP method",
            ),
        ] {
            let says = Har::read(text).unwrap_err().0;
            assert!(says.contains(words), "{says}");
        }
    }
}
