"""Operations that one program repeats at a server: transactions, and reads and writes of shared data."""
