// Command pulumi-language-python runs Python programs for the Pulumi engine, where the official one is not installed.
//
// The engine starts it with its own address as the last argument and reads the port that it prints. It ends when the
// engine asks for it, interrupts it, or is gone itself. Every program runs in a process of its own, with the
// interpreter of its project.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pulumi-language-python ENGINE (the Pulumi engine starts it)")
		os.Exit(2)
	}
	host := newHost(os.Args[len(os.Args)-1])
	end := make(chan bool)
	server, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: end,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(server, host)
			return nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		<-ended()
		host.stop()
		close(end)
	}()
	fmt.Println(server.Port)
	if err := <-server.Done; err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ended is closed when this process is interrupted, or when the engine, which holds the other end of standard input,
// is gone.
func ended() <-chan struct{} {
	over := make(chan struct{}, 2)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		over <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over <- struct{}{}
	}()
	return over
}
