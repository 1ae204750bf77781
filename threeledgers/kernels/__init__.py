"""The small programs that labs measure: plain, short, without a clock."""
