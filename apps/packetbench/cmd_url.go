package main

import (
	"fmt"
)

// urlCmd prints the address of the running service.
type urlCmd struct {
	Monitor bool `help:"With the token that can watch and not act."`
}

// Run prints the address. It needs no connection: run.json holds it.
func (c *urlCmd) Run(g *Globals) error {
	run, err := findService(g)
	if err != nil {
		return failed(err)
	}
	token := run.OwnerToken
	if c.Monitor {
		token = run.MonitorToken
	}
	_, err = fmt.Fprintf(g.Stdout, "%s/?token=%s\n", run.URL, token)
	return err
}
