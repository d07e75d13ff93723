package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"ergo.services/ergo"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// versionCmd prints what this program is made of.
type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// versions is the result of version --json.
type versions struct {
	Version         string `json:"version"`
	Commit          string `json:"commit"`
	Go              string `json:"go"`
	Ergo            string `json:"ergo"`
	NATS            string `json:"nats"`
	SidecarProtocol int    `json:"sidecar_protocol"`
}

// Run prints the versions.
func (c *versionCmd) Run(g *Globals) error {
	info, _ := debug.ReadBuildInfo()
	v := versionsOf(info)
	if c.JSON {
		return json.NewEncoder(g.Stdout).Encode(v)
	}
	_, err := fmt.Fprintf(g.Stdout, "PacketBench %s\ncommit %s\ngo %s\nergo %s\nnats-server %s\nsidecar protocol %d\n",
		v.Version, v.Commit, v.Go, v.Ergo, v.NATS, v.SidecarProtocol)
	return err
}

// versionsOf asks what was linked: the framework itself, whose module carries
// another number (docs/adr/0001), and the list of modules in the program.
func versionsOf(info *debug.BuildInfo) versions {
	v := versions{
		Version: config.Version, Commit: config.Commit, Go: runtime.Version(),
		Ergo: ergo.FrameworkVersion.Release, NATS: "unknown", SidecarProtocol: contract.SidecarProtocol,
	}
	if info == nil {
		return v
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/nats-io/nats-server/v2" {
			v.NATS = m.Version
		}
	}
	return v
}
