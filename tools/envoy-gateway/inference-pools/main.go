// Command inference-pools tells Envoy Gateway how requests reach the pods of an InferencePool.
//
// It is an extension server (Envoy Gateway's proto/extension) that stands in for the controller of Envoy AI Gateway on
// clusters without one: for each route to a pool, Envoy asks the pool's picker (ext_proc) and sends the request to the
// pod that the picker names.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/envoyproxy/gateway/proto/extension"
	"google.golang.org/grpc"
)

const address = ":1063"

type server struct {
	extension.UnimplementedEnvoyGatewayExtensionServer
}

// PostClusterModify makes the cluster of a pool send requests where the picker says.
func (server) PostClusterModify(
	_ context.Context, request *extension.PostClusterModifyRequest,
) (*extension.PostClusterModifyResponse, error) {
	if pool := firstPool(request.GetPostClusterContext().GetBackendExtensionResources()); pool != nil {
		toPickedPod(request.Cluster)
	}
	return &extension.PostClusterModifyResponse{Cluster: request.Cluster}, nil
}

// PostRouteModify notes on a route which picker is to be asked.
func (server) PostRouteModify(
	_ context.Context, request *extension.PostRouteModifyRequest,
) (*extension.PostRouteModifyResponse, error) {
	if pool := firstPool(request.GetPostRouteContext().GetExtensionResources()); pool != nil {
		if err := note(request.Route, pool.picker()); err != nil {
			return nil, err
		}
	}
	return &extension.PostRouteModifyResponse{Route: request.Route}, nil
}

// PostTranslateModify adds what asks the noted pickers: a cluster for each, a filter before the router, a switch on
// each route.
func (server) PostTranslateModify(
	_ context.Context, request *extension.PostTranslateModifyRequest,
) (*extension.PostTranslateModifyResponse, error) {
	clusters, err := ask(request.Routes, request.Listeners)
	if err != nil {
		return nil, err
	}
	return &extension.PostTranslateModifyResponse{
		Clusters:  append(request.Clusters, clusters...),
		Secrets:   request.Secrets,
		Listeners: request.Listeners,
		Routes:    request.Routes,
	}, nil
}

func main() {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	serving := grpc.NewServer()
	extension.RegisterEnvoyGatewayExtensionServer(serving, server{})
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ended, serving.Stop)
	log.Println("listening on", address)
	if err := serving.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
