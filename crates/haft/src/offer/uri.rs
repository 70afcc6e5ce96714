//! `file:` URIs and the paths they mean.

/// The URI of an absolute path.
pub(super) fn of_path(path: &str) -> String {
    let mut uri = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The absolute path that a `file:` URI of this machine means, if it is one.
pub(super) fn path_of(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'%' => hex(left.next()?)? << 4 | hex(left.next()?)?,
            // Neither is part of a path.
            b'?' | b'#' => return None,
            other => other,
        });
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|path| !path.contains('\0'))
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_from_their_uris() {
        for path in ["/a/b.txt", "/a b/ü%/#?", "/", "/~x/-_."] {
            let uri = of_path(path);
            assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{uri}");
            assert_eq!(path_of(&uri).as_deref(), Some(path), "{uri}");
        }
    }

    #[test]
    fn what_is_no_file_of_this_machine_is_none() {
        for uri in [
            "https://a/b",
            "file://host/a",
            "file:a",
            "file:///a%",
            "file:///a%zz",
            "file:///a%00",
            "file:///a%ff",
            "file:///a?b",
            "",
        ] {
            assert_eq!(path_of(uri), None, "{uri}");
        }
        assert_eq!(path_of("file://localhost/a").as_deref(), Some("/a"));
        assert_eq!(path_of("file:///a/../b").as_deref(), Some("/a/../b"));
    }
}
