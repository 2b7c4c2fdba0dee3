package main

import (
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	getaddrinfov3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/getaddrinfo/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// The header in which a picker names the pod, as address and port (endpoint picker protocol of the inference
	// extension).
	destination = "x-gateway-destination-endpoint"

	filterName   = "inference-pools/ext_proc"
	metadataName = "modelplane.inference-pools"
	managerName  = "envoy.filters.network.http_connection_manager"
	patience     = 10 * time.Second
)

// toPickedPod lets the picker's header decide about the address.
func toPickedPod(cluster *clusterv3.Cluster) {
	cluster.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST}
	cluster.LbPolicy = clusterv3.Cluster_CLUSTER_PROVIDED
	cluster.LbConfig = &clusterv3.Cluster_OriginalDstLbConfig_{
		OriginalDstLbConfig: &clusterv3.Cluster_OriginalDstLbConfig{UseHttpHeader: true, HttpHeaderName: destination},
	}
	cluster.LoadBalancingPolicy = nil
	cluster.EdsClusterConfig = nil
	cluster.LoadAssignment = nil
}

func note(route *routev3.Route, who picker) error {
	fields, err := structpb.NewStruct(map[string]any{"host": who.host, "port": float64(who.port)})
	if err != nil {
		return err
	}
	if route.Metadata == nil {
		route.Metadata = &corev3.Metadata{}
	}
	if route.Metadata.FilterMetadata == nil {
		route.Metadata.FilterMetadata = map[string]*structpb.Struct{}
	}
	route.Metadata.FilterMetadata[metadataName] = fields
	return nil
}

func noted(route *routev3.Route) (picker, bool) {
	fields, found := route.GetMetadata().GetFilterMetadata()[metadataName]
	if !found {
		return picker{}, false
	}
	values := fields.AsMap()
	host, _ := values["host"].(string)
	port, _ := values["port"].(float64)
	return picker{host: host, port: uint32(port)}, true
}

// ask switches the picker on for each route that has one; it returns the clusters of all pickers.
func ask(tables []*routev3.RouteConfiguration, listeners []*listenerv3.Listener) ([]*clusterv3.Cluster, error) {
	clusters := map[string]*clusterv3.Cluster{}
	for _, table := range tables {
		for _, host := range table.VirtualHosts {
			for _, route := range host.Routes {
				who, found := noted(route)
				if !found {
					continue
				}
				if err := switchOn(route, who); err != nil {
					return nil, err
				}
				cluster, err := pickerCluster(who)
				if err != nil {
					return nil, err
				}
				clusters[who.cluster()] = cluster
			}
		}
	}
	if len(clusters) == 0 {
		return nil, nil
	}
	for _, listener := range listeners {
		for _, chain := range append(slices.Clone(listener.FilterChains), listener.DefaultFilterChain) {
			if err := addFilter(chain); err != nil {
				return nil, err
			}
		}
	}
	result := make([]*clusterv3.Cluster, 0, len(clusters))
	for _, cluster := range clusters {
		result = append(result, cluster)
	}
	slices.SortFunc(result, func(one, other *clusterv3.Cluster) int { return compare(one.Name, other.Name) })
	return result, nil
}

func compare(one, other string) int {
	if one < other {
		return -1
	}
	return 1
}

// switchOn is the route's own setting: without one the filter is off.
func switchOn(route *routev3.Route, who picker) error {
	override := &extprocv3.ExtProcPerRoute{
		Override: &extprocv3.ExtProcPerRoute_Overrides{
			Overrides: &extprocv3.ExtProcOverrides{GrpcService: service(who), ProcessingMode: whatIsRead()},
		},
	}
	inner, err := anypb.New(override)
	if err != nil {
		return err
	}
	outer, err := anypb.New(&routev3.FilterConfig{Config: inner})
	if err != nil {
		return err
	}
	if route.TypedPerFilterConfig == nil {
		route.TypedPerFilterConfig = map[string]*anypb.Any{}
	}
	route.TypedPerFilterConfig[filterName] = outer
	return nil
}

func addFilter(chain *listenerv3.FilterChain) error {
	for _, filter := range chain.GetFilters() {
		if filter.Name != managerName {
			continue
		}
		manager := &managerv3.HttpConnectionManager{}
		if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
			return err
		}
		if slices.ContainsFunc(manager.HttpFilters, func(f *managerv3.HttpFilter) bool { return f.Name == filterName }) {
			continue
		}
		config, err := anypb.New(&extprocv3.ExternalProcessor{
			GrpcService:    service(picker{host: "none"}),
			ProcessingMode: whatIsRead(),
			MessageTimeout: durationpb.New(patience),
		})
		if err != nil {
			return err
		}
		asking := &managerv3.HttpFilter{
			Name:       filterName,
			Disabled:   true,
			ConfigType: &managerv3.HttpFilter_TypedConfig{TypedConfig: config},
		}
		manager.HttpFilters = slices.Insert(manager.HttpFilters, 0, asking)
		if filter.ConfigType, err = typed(manager); err != nil {
			return err
		}
	}
	return nil
}

func typed(message proto.Message) (*listenerv3.Filter_TypedConfig, error) {
	config, err := anypb.New(message)
	return &listenerv3.Filter_TypedConfig{TypedConfig: config}, err
}

// whatIsRead is what a picker gets: the whole request, and the headers of the answer. It could count tokens in the
// body of an answer; the version in tools/endpoint-picker ends on one that counts them as Anthropic's API does.
func whatIsRead() *extprocv3.ProcessingMode {
	return &extprocv3.ProcessingMode{
		RequestHeaderMode:   extprocv3.ProcessingMode_SEND,
		RequestBodyMode:     extprocv3.ProcessingMode_FULL_DUPLEX_STREAMED,
		RequestTrailerMode:  extprocv3.ProcessingMode_SEND,
		ResponseHeaderMode:  extprocv3.ProcessingMode_SEND,
		ResponseBodyMode:    extprocv3.ProcessingMode_NONE,
		ResponseTrailerMode: extprocv3.ProcessingMode_SKIP,
	}
}

func service(who picker) *corev3.GrpcService {
	return &corev3.GrpcService{
		Timeout: durationpb.New(patience),
		TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: who.cluster(), Authority: who.host},
		},
	}
}

// pickerCluster reaches a picker by its Service, over TLS: pickers make a certificate of their own at their start.
func pickerCluster(who picker) (*clusterv3.Cluster, error) {
	options, err := anypb.New(&upstreamv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	security, err := anypb.New(&tlsv3.UpstreamTlsContext{
		CommonTlsContext: &tlsv3.CommonTlsContext{AlpnProtocols: []string{"h2"}},
	})
	if err != nil {
		return nil, err
	}
	// Envoy's own resolver looks into a hosts file once a minute, that of the C library each time.
	resolver, err := anypb.New(&getaddrinfov3.GetAddrInfoDnsResolverConfig{})
	if err != nil {
		return nil, err
	}
	socket := &corev3.SocketAddress{
		Address:       who.host,
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: who.port},
	}
	endpoint := &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: socket}},
	}}}
	return &clusterv3.Cluster{
		Name:                 who.cluster(),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS},
		ConnectTimeout:       durationpb.New(patience),
		DnsRefreshRate:       durationpb.New(time.Second),
		TypedDnsResolverConfig: &corev3.TypedExtensionConfig{
			Name:        "envoy.network.dns_resolver.getaddrinfo",
			TypedConfig: resolver,
		},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: who.cluster(),
			Endpoints:   []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{endpoint}}},
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options,
		},
		TransportSocket: &corev3.TransportSocket{
			Name:       "envoy.transport_sockets.tls",
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: security},
		},
	}, nil
}
