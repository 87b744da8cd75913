//! TCP traffic with known truth: LBP, RBP, window-limited and Poisson short flows
