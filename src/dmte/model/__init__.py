"""V_t, V_s, U_s and v: the modules, the trained model and its folder."""
