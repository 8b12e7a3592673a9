# Hecaton instead of Net::HTTP: the other's driver, unchanged.
require "hecaton/net_http"

Hecaton::NetHTTP.replace!
require_relative "net_http"
