package child

// ActAsInit does nothing on Windows, which has no process 1.
func ActAsInit() (code int, acted bool) { return 0, false }
