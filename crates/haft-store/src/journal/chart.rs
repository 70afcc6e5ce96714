//! Small charts for a terminal.

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Numbers as bars, the highest one full; nothing is an empty place.
pub fn chart(values: &[u64]) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    values
        .iter()
        .map(|&value| match value {
            0 => ' ',
            value => STEPS[((value * 8).div_ceil(most) as usize).clamp(1, 8) - 1],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        assert_eq!(chart(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(chart(&[]), "");
        assert_eq!(chart(&[0, 0]), "  ");
        assert_eq!(chart(&[1, u64::MAX / 8]), "▁█");
    }
}
