# rest-client on Hecaton, which keeps its connections: rest-client's driver, unchanged.
require "hecaton/net_http"

Hecaton::NetHTTP.replace!
require_relative "rest_client"
