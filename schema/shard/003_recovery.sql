-- Recovery knows the living from the dead.

-- Functions whose parameters change; participants/ has the new ones.
drop function if exists giro.session(int, int, int);
