//! inspect: nothing secret leaves, and nothing untrusted passes for ours. Secrets are masked in
//! every part of the answer; forged markers in untrusted text are taken apart.

use haft_core::{Block, Output};
use serde_json::Value;

use super::untrusted;
use crate::flight::Flight;
use crate::secrets;

pub(crate) fn output(flight: &mut Flight<'_>, output: &mut Output) {
    speak_for_structured(output);
    let spec = flight.entry().map(|entry| entry.spec());
    let untrusted = output.untrusted || spec.is_some_and(|spec| spec.output_is_untrusted);
    let forgettable = output.forgettable || spec.is_some_and(|spec| spec.output_is_forgettable);
    flight.meta.untrusted = untrusted;
    flight.meta.forgettable = forgettable;
    let mut masked = 0;
    for block in &mut output.content {
        masked += match block {
            Block::Text { text, .. } => {
                let count = mask(text);
                if untrusted {
                    untrusted::disarm(text);
                }
                count
            }
            Block::Resource { resource, .. } => {
                let count = secrets::mask_value(resource);
                if let Some(Value::String(text)) = resource.get_mut("text").filter(|_| untrusted) {
                    untrusted::disarm(text);
                }
                count
            }
            _ => 0,
        };
    }
    if let Some(structured) = &mut output.structured {
        masked += secrets::mask_value(structured);
    }
    if let Some(error) = &mut output.error {
        masked += mask(&mut error.message);
        masked += error.hint.as_mut().map_or(0, mask);
    }
    flight.meta.masked = masked;
}

/// A result without text is told as text too: not every model reads structured content.
fn speak_for_structured(output: &mut Output) {
    if output.content.is_empty()
        && output.error.is_none()
        && let Some(structured) = &output.structured
    {
        let text = structured.to_string();
        output.content.push(Block::text(text));
    }
}

fn mask(text: &mut String) -> usize {
    let masked = secrets::mask(text);
    let count = masked.count;
    if count > 0 {
        *text = masked.text.into_owned();
    }
    count
}
