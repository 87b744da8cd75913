// SPDX-License-Identifier: Apache-2.0
//! Quantiles for two-sided 90 % intervals.

/// Normal quantile of a two-sided 90 % interval.
pub const Z90: f64 = 1.645;

/// Student's t of a two-sided 90 % interval, for 1 to 10 degrees of freedom.
const T90: [f64; 10] = [
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
];

/// Returns Student's t for any number of degrees of freedom; beyond the table by its expansion
/// about the normal quantile, accurate to three digits.
pub fn t90(degrees: usize) -> f64 {
    let tabled = degrees.checked_sub(1).and_then(|i| T90.get(i));
    tabled.copied().unwrap_or_else(|| {
        let n = degrees.max(1) as f64;
        let first = (Z90.powi(3) + Z90) / 4.0;
        let second = (5.0 * Z90.powi(5) + 16.0 * Z90.powi(3) + 3.0 * Z90) / 96.0;
        Z90 + first / n + second / (n * n)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expansion_goes_on_where_the_table_ends() {
        assert!((t90(11) - 1.796).abs() < 2e-3 && (t90(30) - 1.697).abs() < 1e-3);
    }
}
