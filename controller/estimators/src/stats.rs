// SPDX-License-Identifier: Apache-2.0
//! Small statistics.

/// Quantile of unsorted values, linear between ranks; `None` when empty.
pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_sorted(&sorted, q)
}

/// Quantile of sorted values.
pub(crate) fn quantile_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let low = *sorted.get(below)?;
    let high = *sorted.get((below + 1).min(last))?;
    Some(low + (high - low) * (position - below as f64))
}

/// Mean; `None` when empty.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Half width of the 90 % confidence interval of the mean; 0 below two values.
pub(crate) fn mean_error(values: &[f64]) -> f64 {
    let Some(m) = mean(values).filter(|_| values.len() > 1) else {
        return 0.0;
    };
    let n = values.len() as f64;
    let variance = values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / (n - 1.0);
    1.645 * (variance / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_means() {
        let v = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(quantile(&v, 0.5), Some(3.0));
        assert_eq!(quantile(&v, 1.0), Some(5.0));
        assert_eq!(quantile(&v, 0.125), Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(mean(&v), Some(3.0));
        assert_eq!(mean(&[]), None);
        assert_eq!(mean_error(&[1.0]), 0.0);
        assert!((mean_error(&v) - 1.645 * (2.5f64 / 5.0).sqrt()).abs() < 1e-12);
    }
}
