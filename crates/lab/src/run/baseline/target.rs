//! Where requests go, resolved once, and the bytes of a request.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use url::Url;

/// A prepared request; only the id is still missing.
#[derive(Debug)]
pub struct Request {
    before_id: Vec<u8>,
    after_id: Vec<u8>,
    append_id: bool,
}

impl Request {
    /// Prepares a request to `url`.
    pub fn new(method: &str, url: &Url, append_id: bool) -> Request {
        let query = url.query().map(|query| format!("?{query}"));
        let query = query.unwrap_or_default();
        let port = url.port().map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        let host = url.host_str().unwrap_or_default();
        let empty_body = if matches!(method, "POST" | "PUT" | "PATCH") {
            "Content-Length: 0\r\n"
        } else {
            ""
        };
        Request {
            before_id: format!("{method} {}{query}", url.path()).into_bytes(),
            after_id: format!(" HTTP/1.1\r\nHost: {host}{port}\r\n{empty_body}\r\n").into_bytes(),
            append_id,
        }
    }

    /// Adds the contents of these files: header fields, a line each, and a body.
    ///
    /// # Errors
    /// A few words when a file cannot be read.
    pub fn with(self, fields: Option<&Path>, body: Option<&Path>) -> Result<Request, String> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| error.to_string());
        let (fields, body) = (fields.map(read).transpose()?, body.map(read).transpose()?);
        let mut after_id = self.after_id;
        let end = after_id.len() - 2; // before the empty line
        let mut more: Vec<u8> = Vec::new();
        let lines = fields.iter().flat_map(|it| it.split(|byte| *byte == b'\n'));
        for line in lines {
            if !line.is_empty() {
                more.extend_from_slice(line);
                more.extend_from_slice(b"\r\n");
            }
        }
        if let Some(body) = &body {
            let none = b"Content-Length: 0\r\n";
            if after_id[..end].ends_with(none) {
                after_id.drain(end - none.len()..end);
            }
            more.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        let end = after_id.len() - 2;
        after_id.splice(end..end, more);
        after_id.extend(body.unwrap_or_default());
        Ok(Request { after_id, ..self })
    }

    /// Writes the request for one id, replacing what was in `buffer`.
    pub fn write(&self, id: u64, buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.extend_from_slice(&self.before_id);
        if self.append_id {
            buffer.extend_from_slice(itoa::Buffer::new().format(id).as_bytes());
        }
        buffer.extend_from_slice(&self.after_id);
    }
}

/// The first address of the URL's host.
///
/// # Errors
/// A few words when the host has none.
pub fn resolve(url: &Url) -> Result<SocketAddr, String> {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err("the URL has no host".into());
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|error| error.to_string())?;
    found.next().ok_or_else(|| format!("{host} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, url: &str, append_id: bool) -> String {
        let mut buffer = b"old".to_vec();
        Request::new(method, &url.parse().unwrap(), append_id).write(42, &mut buffer);
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn requests_carry_path_query_host_and_id() {
        assert_eq!(
            request("GET", "http://127.0.0.1:81/r/", true),
            "GET /r/42 HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n"
        );
        assert_eq!(
            request("HEAD", "http://[::1]/a?b=c", false),
            "HEAD /a?b=c HTTP/1.1\r\nHost: [::1]\r\n\r\n"
        );
        assert!(request("POST", "http://h/", false).contains("Content-Length: 0"));
    }

    #[test]
    fn fields_and_a_body_stand_where_they_should() {
        let folder = tempfile::tempdir().unwrap();
        let (fields, body) = (folder.path().join("f"), folder.path().join("b"));
        std::fs::write(&fields, "X-A: 1\nX-B: 2\n").unwrap();
        std::fs::write(&body, "{}").unwrap();
        let request = Request::new("POST", &"http://h/p".parse().unwrap(), false);
        let mut buffer = Vec::new();
        request
            .with(Some(&fields), Some(&body))
            .unwrap()
            .write(1, &mut buffer);
        assert_eq!(
            String::from_utf8(buffer).unwrap(),
            "POST /p HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 2\r\n\r\n{}"
        );
    }

    #[test]
    fn literal_addresses_resolve_to_themselves() {
        let resolved = |url: &str| resolve(&url.parse().unwrap()).unwrap().to_string();
        assert_eq!(resolved("http://127.0.0.1:81/"), "127.0.0.1:81");
        assert_eq!(resolved("http://[::1]/"), "[::1]:80");
    }
}
