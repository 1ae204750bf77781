"""What hardware and libraries would do, as exact integers: small pure functions, no torch, no formulas."""
