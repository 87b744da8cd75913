//! Streaming estimators of N_b, alpha, delta, T_e and C_e; pure
