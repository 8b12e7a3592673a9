# HTTP::Tiny: as many processes as requests in flight, each with a client and so a connection of its own.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use HTTP::Tiny;
use Kit;

sub opened {
    my ($job) = @_;
    return HTTP::Tiny->new(
        keep_alive => $job->{keepalive},
        timeout => $job->{timeout_ms} / 1000,
        max_redirect => 0,
        verify_SSL => 1,
        SSL_options => $job->{ca} ? { SSL_ca_file => $job->{ca} } : {},
        default_headers => $job->{verify} eq 'json' ? { Accept => 'application/json' } : {},
        http_proxy => undef,
        https_proxy => undef,
    );
}

# Requests one URL: status and body, or no status and the failure.
sub sender {
    my ($job) = @_;
    my $client = opened($job);
    return sub {
        my ($url) = @_;
        my $response = $client->request($job->{method}, $url);
        return @$response{qw(status content)} if $response->{status} != 599; # its own status, for what went wrong
        return (undef, $response->{content} =~ /^([A-Za-z ]+)/ ? $1 : 'no response');
    };
}

# It re-sends once what a reused connection lost without a response.
Kit::run(\&sender, name => 'http-tiny', version => HTTP::Tiny->VERSION, engine => 'pure perl', retries => 'fixed:1');
