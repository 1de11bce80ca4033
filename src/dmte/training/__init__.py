"""L_tt, L_ss, L_st and L_ts, Adam, early stopping (section 4.4)."""
