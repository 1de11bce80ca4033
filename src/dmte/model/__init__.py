"""The model, its trained form and its folder: V_t, V_s, U_s and v."""
