//! Long answers of searches, printed while they come where the caller has made room for them.
//! They go out piece by piece, so that their size does not matter.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_host::Outlet;

use super::fail;

/// Prints up to `budget` characters; what is beyond is left out, and said so.
pub(crate) fn to_stdout(budget: usize) -> Outlet {
    let left = AtomicUsize::new(budget);
    Outlet {
        clean,
        write: Arc::new(move |text| {
            let chars = text.chars().count();
            let take = |left: usize| left.checked_sub(chars);
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => {
                    // A reader that is gone must not end the call.
                    let _ = std::io::stdout().lock().write_all(text.as_bytes());
                }
                Err(0) => {}
                Err(_) => {
                    left.store(0, Ordering::SeqCst);
                    fail::notice("there is more than the budget allows");
                }
            }
        }),
    }
}

fn clean(text: &str) -> Option<String> {
    let masked = haft_runtime::mask(text);
    (masked.count > 0).then(|| masked.text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out() {
        let token = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";
        assert_eq!(clean("nothing to hide"), None);
        let cleaned = clean(&format!("token {token}\nnext\n")).unwrap();
        assert!(!cleaned.contains(token) && cleaned.ends_with("\nnext\n"));
    }
}
