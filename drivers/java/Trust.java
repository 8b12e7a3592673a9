// The authorities that clients in Java trust over https: that of a PEM file, or those of the JDK.

import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

record Trust(SSLContext context, X509TrustManager manager) {
  static Trust in(String ca) throws Exception {
    KeyStore store = null; // that of the JDK
    if (ca != null) {
      store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      try (var file = new FileInputStream(ca)) {
        store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
      }
    }
    var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return new Trust(context, (X509TrustManager) managers.getTrustManagers()[0]);
  }
}
