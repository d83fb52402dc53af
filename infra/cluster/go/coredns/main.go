// A CoreDNS with only what a cluster of tests needs: the names of Services and pods, for pods.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// A plugin works only where it is named here, and in this order.
func init() {
	dnsserver.Directives = []string{"bind", "errors", "ready", "cache", "kubernetes"}
}

func main() { coremain.Run() }
